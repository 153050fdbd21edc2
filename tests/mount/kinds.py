# SPDX-License-Identifier: Apache-2.0
"""One call of every kind on a tree in a mount, for agents.

prepare() makes the tree. begin() opens what stays open while something happens to
the mount; attempt() does one kind, which can be done again whatever came of it, and
says what did. check() says what is wrong with the files now; it may be another
process's.
"""
import contextlib
import errno
import itertools
import mmap
import os

import calls
import samples

SIZE = 30000
FIXED = ("cached.om", "uncached.om", "cached.txt", "uncached.txt", "open.om",
         "mapped.om", "compiled_module")
CHANGED = ("replaced.om", "replaced.txt", "appended", "truncated", "synced",
           "mapped", "written", "published.om")


class Wrong(Exception):
    """Not an error of the call: what it gave is not what is there."""


def fixed(name):
    if name == "compiled_module":
        return samples.module(1)
    if name.endswith(".om"):
        return samples.om(name, SIZE)
    return samples.text(name, SIZE)


def version(name, number):
    """The content that a changing file has after that many changes."""
    if name.endswith(".om"):
        return samples.om((name, number), SIZE)
    return samples.text((name, number), SIZE)


def prepare(root):
    os.makedirs(os.path.join(root, "m"))
    for name in FIXED:
        calls.write(os.path.join(root, "m", name), fixed(name))
    os.mkdir(os.path.join(root, "c"))
    for name in CHANGED:
        calls.write(os.path.join(root, "c", name), version(name, 0))
    os.symlink("m", os.path.join(root, "link"))


def expect(seen, expected, what):
    if seen != expected:
        raise Wrong(f"{what}: expected {samples.describe(expected)}, seen "
                    f"{samples.describe(seen)}")


def exists(path):
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


def read_from_daemon(fd):
    os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
    return calls.read_fd(fd)


def in_child(function):
    """For what may end by a signal: then it raises EFAULT, as read(2) would."""
    pid = os.fork()
    if pid == 0:
        os._exit(0 if function() else 1)
    status = os.waitpid(pid, 0)[1]
    if os.WIFSIGNALED(status):
        raise OSError(errno.EFAULT, f"signal {os.WTERMSIG(status)}")
    if status:
        raise Wrong("a mapping has other bytes")


class Tree:
    """What one process does with it, and which contents each file may have."""

    def __init__(self, root):
        self.root = root
        self.serial = itertools.count(1)
        self.allowed = {name: [version(name, 0)] for name in CHANGED}
        self.text = calls.read(self.fixed("readable.py"))
        for name in ("cached.om", "cached.txt"):
            calls.read(self.fixed(name))
        self.hold()

    def fixed(self, name):
        return os.path.join(self.root, "m", name)

    def changed(self, name):
        return os.path.join(self.root, "c", name)

    def hold(self):
        """Descriptors and a mapping, of which nothing was read yet."""
        self.open = os.open(self.fixed("open.om"), os.O_RDONLY)
        with open(self.fixed("mapped.om"), "rb") as file:
            self.pages = mmap.mmap(file.fileno(), 0, prot=mmap.PROT_READ)
        self.writer = self.publisher = None
        self.hold_writer()
        self.hold_publisher()

    def hold_writer(self):
        if self.writer is None:
            self.writer = os.open(self.changed("written"), os.O_RDWR)

    def hold_publisher(self):
        if self.publisher is None:
            new = self.new("published.om")
            self.publisher = calls.begin(self.changed("published.om"), new[:1000])
            self.rest = new[1000:]

    def new(self, name):
        """The next content of a file, which it may have from now on."""
        content = version(name, next(self.serial))
        self.allowed[name].append(content)
        return content

    def has(self, name, content):
        self.allowed[name] = [content]

    def replace(self, name):
        content = self.new(name)
        calls.write(self.changed(name), content)
        self.has(name, content)

    # reading

    def read_cached(self):
        expect(calls.read(self.fixed("cached.om")), fixed("cached.om"), "cached.om")
        expect(calls.read(self.fixed("cached.txt")), fixed("cached.txt"), "cached.txt")

    def read_uncached(self):
        for name in ("uncached.om", "uncached.txt"):
            fd = os.open(self.fixed(name), os.O_RDONLY)
            try:
                expect(read_from_daemon(fd), fixed(name), name)
            finally:
                os.close(fd)

    def read_readable(self):
        expect(calls.read(self.fixed("readable.py")), self.text, "readable.py")

    def read_open(self):
        expect(read_from_daemon(self.open), fixed("open.om"), "open.om")

    def read_mapped(self):
        in_child(lambda: bytes(self.pages) == fixed("mapped.om"))

    def read_link(self):
        if os.readlink(os.path.join(self.root, "link")) != "m":
            raise Wrong("the link shows elsewhere")

    def read_directory(self):
        names = set(os.listdir(os.path.join(self.root, "m")))
        if names != {*FIXED, "readable.py"}:
            raise Wrong(f"listed: {sorted(names)}")

    def stat(self):
        if os.stat(self.fixed("cached.txt")).st_size != SIZE:
            raise Wrong("another size")

    def stat_missing(self):
        if exists(os.path.join(self.root, "missing")):
            raise Wrong("something that is not there")

    def statfs(self):
        os.statvfs(self.root)

    def getxattr(self):
        os.listxattr(self.fixed("cached.txt"))
        os.getxattr(self.fixed("cached.txt"), "user.tacfs.digest")

    # writing

    def replace_artifact(self):
        self.replace("replaced.om")

    def replace_plain(self):
        self.replace("replaced.txt")

    def create_artifact(self):
        name = f"new{next(self.serial)}.om"
        self.allowed[name] = [None, b""]
        self.replace(name)

    def create_plain(self):
        name = f"new{next(self.serial)}"
        self.allowed[name] = [None, b""]
        self.replace(name)

    def append(self):
        old = self.allowed["appended"][0]
        fd = os.open(self.changed("appended"), os.O_RDWR | os.O_APPEND)
        try:
            old = calls.read_fd(fd)
            self.allowed["appended"].append(old + b"more")
            calls.write_fd(fd, b"more")
        finally:
            os.close(fd)
        self.has("appended", old + b"more")

    def truncate(self):
        path = self.changed("truncated")
        size = os.stat(path).st_size - 10
        content = version("truncated", 0)[:size]
        self.allowed["truncated"].append(content)
        os.truncate(path, size)
        self.has("truncated", content)

    def fsync(self):
        content = self.new("synced")
        fd = os.open(self.changed("synced"), os.O_WRONLY | os.O_TRUNC)
        try:
            calls.write_fd(fd, content)
            os.fsync(fd)
        finally:
            os.close(fd)
        self.has("synced", content)

    def write_mapped(self):
        content = self.new("mapped")
        fd = os.open(self.changed("mapped"), os.O_RDWR)
        try:
            with mmap.mmap(fd, SIZE) as pages:
                pages[:] = content
                pages.flush()
        finally:
            os.close(fd)
        self.has("mapped", content)

    def write_open(self):
        """By a descriptor that was open before, with its fsync and close."""
        self.hold_writer()
        content = self.new("written")
        fd, self.writer = self.writer, None
        try:
            os.pwrite(fd, content, 0)
            os.fsync(fd)
        finally:
            os.close(fd)
        self.has("written", content)

    def publish_open(self):
        """What a descriptor that was open before has begun."""
        self.hold_publisher()
        fd, self.publisher = self.publisher, None
        try:
            calls.write_fd(fd, self.rest)
        finally:
            os.close(fd)
        self.has("published.om", self.allowed["published.om"][-1])

    def change_mode(self):
        os.chmod(self.changed("replaced.txt"), 0o600 | next(self.serial) % 8)

    def change_times(self):
        os.utime(self.changed("replaced.txt"), ns=(next(self.serial), 1))

    def setxattr(self):
        os.setxattr(self.changed("replaced.txt"), "user.number",
                    b"%d" % next(self.serial))

    # names

    def rename(self):
        one, two = self.changed("one"), self.changed("two")
        if not exists(one) and not exists(two):
            calls.write(one, b"moved")
        os.rename(*((one, two) if exists(one) else (two, one)))

    def unlink(self):
        for name in ("gone.om", "gone"):
            path = self.changed(name)
            if not exists(path):
                calls.write(path, samples.om(7))
            os.unlink(path)

    def mkdir(self):
        os.mkdir(self.changed(f"directory{next(self.serial)}"))

    def rmdir(self):
        path = self.changed("removed")
        if not exists(path):
            os.mkdir(path)
        os.rmdir(path)

    def symlink(self):
        os.symlink("to", self.changed(f"link{next(self.serial)}"))


def public(words):
    return tuple(name for name, value in vars(Tree).items()
                 if callable(value) and name.startswith(words))


READS = public(("read_", "stat", "getxattr"))
WRITES = ("replace_artifact", "replace_plain", "create_artifact", "create_plain",
          "append", "truncate", "fsync", "write_mapped", "write_open",
          "publish_open", "change_mode", "change_times", "setxattr", "rename",
          "unlink", "mkdir", "rmdir", "symlink")
ALL = READS + WRITES

_trees = {}


def begin(root):
    _trees[root] = Tree(root)


def attempt(root, kind):
    """"done", the name of an errno, or what was wrong."""
    try:
        getattr(_trees[root], kind)()
    except OSError as error:
        return errno.errorcode.get(error.errno, str(error))
    except Wrong as wrong:
        return str(wrong)
    return "done"


def allowed(root):
    return _trees[root].allowed


def release(root):
    """What is held; closing it may fail."""
    tree = _trees[root]
    for fd in (tree.open, tree.writer, tree.publisher):
        with contextlib.suppress(TypeError, OSError):
            os.close(fd)
    tree.pages.close()


def resume(root):
    """After another mount at that place."""
    _trees[root].hold()


def is_allowed(seen, name, contents):
    """What failed midway has left a part of a file that is not an artifact."""
    if seen in contents:
        return True
    return (seen is not None and not name.endswith(".om")
            and any(content and content.startswith(seen) for content in contents))


def check(root, contents, errors):
    """What is wrong with the changing files; `errors` may keep one from opening."""
    wrong = []
    for name, may_be in contents.items():
        what, seen = calls.look(os.path.join(root, "c", name))
        if what == "errno":
            if errno.errorcode[seen] in errors:
                continue
            seen = None if seen == errno.ENOENT else errno.errorcode[seen].encode()
        if not is_allowed(seen, name, may_be):
            wrong.append(f"{name}: {samples.describe(seen)}")
    return wrong
