# SPDX-License-Identifier: Apache-2.0
"""Scripts of calls, which test_posix.py makes in two directories.

A case is a function that makes calls on names below the working directory:

    @case()
    def rename_replaces_a_file(d):
        d.make("a", b"1")           # nothing is noted of this
        d.make("b", b"2")
        d.rename("a", "b")          # os.rename; what it gave is noted
        d.look("b")                 # and so is what is there then

`differs` names a line of docs/posix.md; then `gives` has what the mount gives where
that is something else than in the other directory.
"""
import ctypes
import errno
import fcntl
import os
import stat
import time

CASES = {}
AT_FDCWD = -100
UTIME_NOW = (1 << 30) - 1
UTIME_OMIT = (1 << 30) - 2
NOREPLACE, EXCHANGE, WHITEOUT = 1, 2, 4
KEEP_SIZE, PUNCH_HOLE, COLLAPSE, ZERO, INSERT = 1, 2, 8, 16, 32
TICK = 0.012  # seconds, more than the clock of a file system's times takes

libc = ctypes.CDLL(None, use_errno=True)
libc.fallocate.argtypes = (ctypes.c_int, ctypes.c_int, ctypes.c_long, ctypes.c_long)


class Case:
    def __init__(self, run, differs, gives, artifact, root):
        self.run, self.differs, self.gives = run, differs, gives
        self.artifact, self.root = artifact, root


def case(differs=None, gives=None, artifact=False, root=False):
    """`artifact`: also with an artifact as d.name. `root`: as root only."""
    def add(run):
        assert run.__name__ not in CASES, run.__name__
        CASES[run.__name__] = Case(run, differs, gives, artifact, root)
        return run
    return add


def checked(result):
    if result < 0:
        number = ctypes.get_errno()
        raise OSError(number, os.strerror(number))
    return result


def rename2(source, target, flags):
    checked(libc.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD,
                           os.fsencode(target), flags))


def fallocate(fd, mode, offset, size):
    checked(libc.fallocate(fd, mode, offset, size))


def access(path, mode):
    """access(2) with its error, which os.access() drops."""
    checked(libc.access(os.fsencode(path), mode))


def utimensat(path, atime, mtime, flags=0):
    """Each time as (seconds, nanoseconds)."""
    times = (ctypes.c_long * 4)(*atime, *mtime)
    checked(libc.utimensat(AT_FDCWD, os.fsencode(path), times, flags))


def open_flags(fd):
    """What F_GETFL says, but for O_LARGEFILE."""
    return fcntl.fcntl(fd, fcntl.F_GETFL) & ~0o100000


CALLS = {call.__name__: call for call in (rename2, fallocate, access, utimensat,
                                          open_flags)}


def plain(value):
    """A result in a form in which those of two file systems may be equal."""
    if isinstance(value, os.stat_result):
        kind = stat.filemode(value.st_mode)
        size = None if stat.S_ISDIR(value.st_mode) else value.st_size
        return (kind + f" {stat.S_IMODE(value.st_mode):04o}", value.st_nlink,
                value.st_uid, value.st_gid, size)
    if isinstance(value, bytes) and len(value) > 64:
        return f"{len(value)} bytes, {hash(value):x}, {value[:16]!r}..."
    if isinstance(value, (bytearray, memoryview)):
        return plain(bytes(value))
    return value


class Script:
    """The calls made in the working directory, and `results`: what each gave."""

    def __init__(self, name="file", content=b"some content\n"):
        """The name and the content that a case may take for its file."""
        self.name = name
        self.content = content
        self.results = []
        self.fds = []

    def __getattr__(self, name):
        call = CALLS.get(name) or getattr(os, name)
        return lambda *arguments, **keywords: self.attempt(name, call, *arguments,
                                                           **keywords)

    def attempt(self, label, call, *arguments, **keywords):
        """Makes a call; notes what it gave, or its error, and returns what it gave."""
        try:
            result = call(*arguments, **keywords)
            seen = plain(result)
        except (OSError, OverflowError, ValueError) as error:
            number = getattr(error, "errno", None)
            result, seen = None, errno.errorcode.get(number, repr(error))
        shown = [repr(plain(value)) for value in (*arguments, *keywords.values())]
        self.note(f"{label}({', '.join(shown)})", seen)
        return result

    def note(self, label, value):
        self.results.append((label, value))

    def open(self, name, flags=os.O_RDONLY, mode=0o666, noted=True):
        """A descriptor that is closed at the end, or None."""
        try:
            fd = os.open(name, flags | os.O_CLOEXEC, mode)
            seen = "opened"
            self.fds.append(fd)
        except OSError as error:
            fd, seen = None, errno.errorcode[error.errno]
        if noted:
            self.note(f"open({name!r:.40}, 0o{flags:o}, 0o{mode:o})", seen)
        return fd

    def close(self, fd):
        self.fds.remove(fd)
        self.attempt("close", lambda _: os.close(fd), "fd")

    def end(self):
        for fd in self.fds:
            os.close(fd)

    def make(self, name, content=b"", mode=0o644):
        """A file, of which nothing is noted."""
        fd = os.open(name, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC, mode)
        try:
            os.write(fd, content)
        finally:
            os.close(fd)

    def file(self, flags=os.O_RDWR):
        """d.name with d.content, open, and nothing noted."""
        if not os.path.lexists(self.name):
            self.make(self.name, self.content)
        return self.open(self.name, flags, noted=False)

    def look(self, name):
        """Notes lstat and the content or target of a name."""
        status = self.lstat(name)
        if status and stat.S_ISREG(status.st_mode):
            self.attempt("content", content_of, name)
        if status and stat.S_ISLNK(status.st_mode):
            self.readlink(name)

    def whole(self, fd):
        """Notes the size and all the bytes of an open file."""
        self.fstat(fd)
        self.pread(fd, 1 << 20, 0)

    def tree(self):
        """Notes what is below the working directory."""
        found = {}
        for directory, names, others in os.walk("."):
            for name in names + others:
                path = os.path.join(directory, name)
                found[path] = plain(os.lstat(path))
        self.note("tree", found)

    def moved(self, what, watched, call, *arguments):
        """Makes a call; notes which times of the files in `watched` it moves."""
        before = [times_of(file) for file in watched]
        time.sleep(TICK)
        try:
            result = call(*arguments)
            if call is os.open:
                os.close(result)
        except OSError as error:
            self.note(what, errno.errorcode[error.errno])
        for file, old in zip(watched, before):
            new = times_of(file)
            name = file if isinstance(file, str) else "the open file"
            self.note(f"times of {name} moved by {what}",
                      [key for key in new if old.get(key) != new[key]])


def times_of(file):
    """{which: when} of a path or descriptor; empty when there is none."""
    try:
        status = os.stat(file) if isinstance(file, int) else os.lstat(file)
    except FileNotFoundError:
        return {}
    return {"mtime": status.st_mtime_ns, "ctime": status.st_ctime_ns}


def content_of(name):
    with open(name, "rb") as file:
        return file.read()


def in_child(work):
    """What `work` notes, or the signal that ended it, in a forked process."""
    pid = os.fork()
    if pid == 0:
        try:
            work()
        except OSError as error:
            os._exit(error.errno)
        os._exit(0)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        return f"signal {os.WTERMSIG(status)}"
    return errno.errorcode.get(os.WEXITSTATUS(status), os.WEXITSTATUS(status))
