# SPDX-License-Identifier: Apache-2.0
"""Calls on files, for the test itself and, through Agent, for other processes.

Everything here is plain system calls: no retry, no buffering that a test did
not ask for.
"""
import ctypes
import errno
import fcntl
import mmap
import os
import signal
import subprocess
import sys
import threading
import time

BLOCK = 1 << 20
AT_FDCWD = -100
RENAME_NOREPLACE = 1
ENOUGH = 6  # turns of a loop that make a test worth something

_maps = {}


def read_fd(fd):
    """All bytes from the start, by pread; a failing read raises."""
    parts = []
    offset = 0
    while True:
        part = os.pread(fd, BLOCK, offset)
        if not part:
            return b"".join(parts)
        parts.append(part)
        offset += len(part)


def read(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        return read_fd(fd)
    finally:
        os.close(fd)


def read_as_ge(path):
    """Size by seeking to the end, then one read of everything."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        size = os.lseek(fd, 0, os.SEEK_END)
        os.lseek(fd, 0, os.SEEK_SET)
        return os.read(fd, size) if size else b""
    finally:
        os.close(fd)


def write_fd(fd, data):
    view = memoryview(data)
    while view:
        view = view[os.write(fd, view):]


def write(path, data, mode=0o600,
          flags=os.O_WRONLY | os.O_CREAT | os.O_TRUNC):
    fd = os.open(path, flags | os.O_CLOEXEC, mode)
    try:
        write_fd(fd, data)
    finally:
        os.close(fd)


def append(path, data):
    write(path, data, flags=os.O_WRONLY | os.O_CREAT | os.O_APPEND)


def save(path, data):
    """`data` as TorchAir saves it: the last bytes come after the unlock."""
    os.makedirs(os.path.dirname(path), exist_ok=True)
    with open(path, "wb") as file:
        fcntl.flock(file, fcntl.LOCK_EX)
        file.write(data[:-36])
        os.chmod(file.fileno(), 0o600)
        fcntl.flock(file, fcntl.LOCK_UN)
        file.write(data[-36:])


def save_all(directory, contents):
    for path, data in contents.items():
        save(os.path.join(directory, path), data)


def move_there_and_back(path, other, times):
    for _ in range(times):
        os.rename(path, other)
        os.rename(other, path)


def rename_new(source, target):
    """renameat2() with RENAME_NOREPLACE."""
    libc = ctypes.CDLL(None, use_errno=True)
    if libc.renameat2(AT_FDCWD, os.fsencode(source), AT_FDCWD, os.fsencode(target),
                      RENAME_NOREPLACE) < 0:
        raise OSError(ctypes.get_errno(), "renameat2", target)


def begin(path, data, mode=0o600):
    """Opens as TorchAir does, and writes; returns the open descriptor."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC | os.O_CLOEXEC,
                 mode)
    write_fd(fd, data)
    return fd


def close_quietly(fd):
    """Whatever has become of its mount."""
    try:
        os.close(fd)
    except OSError:
        pass


def begin_in_thread(path, data):
    """begin() by a thread that has ended when this returns."""
    result = []
    thread = threading.Thread(target=lambda: result.append(begin(path, data)))
    thread.start()
    thread.join()
    return result[0]


def look(path):
    """("bytes", content) or ("errno", number): what an open and reads give.

    Raises when the open succeeds and a read fails: nobody may ever see that.
    """
    try:
        fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    except OSError as error:
        return "errno", error.errno
    try:
        return "bytes", read_fd(fd)
    finally:
        os.close(fd)


def stat_errno(path):
    """0, or why lstat fails."""
    try:
        os.lstat(path)
    except OSError as error:
        return error.errno
    return 0


def missing(path):
    """Whether open, stat and a listing agree that nothing is at path."""
    if look(path) != ("errno", errno.ENOENT):
        return False
    if stat_errno(path) != errno.ENOENT:
        return False
    directory, name = os.path.split(path)
    try:
        return name not in os.listdir(directory)
    except FileNotFoundError:
        return True


def map_file(path):
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        _maps[fd] = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        return fd
    finally:
        os.close(fd)


def mapped(handle):
    return bytes(_maps[handle])


def unmap(handle):
    _maps.pop(handle).close()


def forked_close(fd):
    """A forked child closes the descriptor and exits; returns its status."""
    pid = os.fork()
    if pid == 0:
        os.close(fd)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def forked_exit(_fd=None):
    """A forked child exits with every inherited descriptor still open."""
    pid = os.fork()
    if pid == 0:
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def forked_kill(_fd=None):
    """A forked child dies of SIGKILL with the descriptors open."""
    pid = os.fork()
    if pid == 0:
        os.kill(os.getpid(), signal.SIGKILL)
    return os.waitpid(pid, 0)[1]


def forked_write(fd, data):
    """A forked child writes and exits."""
    pid = os.fork()
    if pid == 0:
        write_fd(fd, data)
        os._exit(0)
    return os.waitpid(pid, 0)[1]


def left_to_child(path, first, rest):
    """This process opens, writes `first` and closes; its child writes `rest`."""
    fd = begin(path, first)
    ready, go = os.pipe()
    pid = os.fork()
    if pid == 0:
        os.close(go)
        os.read(ready, 1)  # ends when the parent has closed its own
        write_fd(fd, rest)
        os._exit(0)
    os.close(ready)
    os.close(fd)
    os.close(go)
    return os.waitpid(pid, 0)[1]


def run_closing_on_exec(command):
    """A command for whose start exec closes what is marked close-on-exec."""
    return subprocess.run(command, close_fds=False).returncode


def become(command, inherited=None):
    """Replaces this process by the command, which may keep one descriptor."""
    if inherited is not None:
        os.set_inheritable(inherited, True)
    os.execvp(command[0], command)


def run_inheriting(command, fd):
    """Runs a command that has the descriptor open, too."""
    return subprocess.run(command, pass_fds=[fd]).returncode


def run_command(command, cwd=None):
    """(status, output with errors) of a command without input."""
    done = subprocess.run(command, stdin=subprocess.DEVNULL, cwd=cwd,
                          stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
    return done.returncode, done.stdout


def leave(status=0):
    os._exit(status)


def leave_with_threads(count, status=0):
    """os._exit while `count` other threads are running."""
    started = threading.Barrier(count + 1)

    def spin():
        started.wait()
        while True:
            os.getppid()

    for _ in range(count):
        threading.Thread(target=spin, daemon=True).start()
    started.wait()
    os._exit(status)


def start_threads(count):
    """Threads that sleep for as long as the process lives."""
    for _ in range(count):
        threading.Thread(target=threading.Event().wait, daemon=True).start()


def finish():
    """A normal end of the interpreter, as at the end of a script."""
    sys.exit(0)


def die(number):
    """The signal's default action ends this process."""
    if number != signal.SIGKILL:
        signal.signal(number, signal.SIG_DFL)
    os.kill(os.getpid(), number)


_got = []


def wait_for_lock(path, count):
    """`count` threads that wait for the lock, each by a descriptor of its own."""
    def wait():
        fd = os.open(path, os.O_RDONLY)
        fcntl.flock(fd, fcntl.LOCK_EX)
        _got.append(fd)
        os.close(fd)

    for _ in range(count):
        threading.Thread(target=wait, daemon=True).start()


def locks_got():
    return len(_got)


def create_exclusively(directory, names):
    """The names that this process was the one to create."""
    won = []
    for name in names:
        try:
            fd = os.open(os.path.join(directory, name),
                         os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600)
        except FileExistsError:
            continue
        won.append(name)
        os.close(fd)
    return won


def make_directories(directory, count):
    """How many of dir0, dir1, … this process was the one to make."""
    made = 0
    for number in range(count):
        try:
            os.mkdir(os.path.join(directory, f"dir{number}"))
            made += 1
        except FileExistsError:
            pass
    return made


def append_lines(path, who, count):
    for line in range(count):
        append(path, f"{who} {line:06d} {'x' * 40}\n".encode())


def create_attributes(path, who, count):
    """Sets some of its own; how many it created of those that all want."""
    created = 0
    for number in range(count):
        os.setxattr(path, f"user.{who}.{number}", b"%d" % number)
        try:
            os.setxattr(path, f"user.shared.{number}", b"", os.XATTR_CREATE)
            created += 1
        except FileExistsError:
            pass
    return created


def replace_often(path, seconds, stop):
    """Writes a temporary file and renames it over path, again and again.

    Makes the file `stop` in the end. Returns how often.
    """
    deadline = time.monotonic() + seconds
    count = 0
    while time.monotonic() < deadline or count < ENOUGH:
        count += 1
        write(f"{path}.tmp", b"%d" % (count % 10) * os.stat(path).st_size)
        os.rename(f"{path}.tmp", path)
    write(stop, b"")
    return count


def read_often(path, size, stop):
    """(reads, what was wrong with them) of a file of `size` equal bytes."""
    count, errors = 0, []
    while (not count or not os.path.exists(stop)) and len(errors) < 5:
        count += 1
        kind, seen = look(path)
        if kind == "errno":
            errors.append(errno.errorcode[seen])
        elif len(seen) != size or len(set(seen)) != 1:
            errors.append(f"{len(seen)} bytes of {sorted(set(seen))}")
    return count, errors
