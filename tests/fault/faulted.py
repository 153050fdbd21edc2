# SPDX-License-Identifier: Apache-2.0
"""What is done to a store while its calls fail, and what may come of it.

A case is done again and again, each time with another number: prepare() makes
what it needs, act() is the part with the fault, check() looks at what became of
it, and redo() does it without a fault.
"""
import contextlib
import errno
import json
import os
import types

import calls
import samples
from harness import tacfs, wait_until

LEAF = "model/prompt"
MODE_AT = 32 + 16 + 28  # in a manifest that begins with META
BASE = {
    f"{LEAF}/compiled_module": samples.module(1, 30000),
    f"{LEAF}/graph_1.om": samples.om(1, 90000),
    f"{LEAF}/graph_1.idx": samples.idx("graph_1.om"),
    f"{LEAF}/weights.bin": samples.text("weights", 70000),
    f"{LEAF}/tiny.json": b'{"tiny": true}',
}


def read_uncached(path):
    """All bytes, asked of the daemon."""
    fd = os.open(path, os.O_RDONLY | os.O_CLOEXEC)
    try:
        os.posix_fadvise(fd, 0, 0, os.POSIX_FADV_DONTNEED)
        return calls.read_fd(fd)
    finally:
        os.close(fd)


def seen(path):
    """The content that a name shows; None when there is nothing."""
    kind, found = calls.look(path)
    if kind == "bytes":
        return found
    if found == 2:
        return None
    raise OSError(found, os.strerror(found), path)


def is_there(path):
    """As os.path.lexists(), but what fails otherwise fails."""
    try:
        os.lstat(path)
    except FileNotFoundError:
        return False
    return True


class Case:
    """`world` has the mount's directory, the store, and the text of the base."""

    kinds = None  # which are to fail; None: all
    command = False
    asks_first = False  # whether it is there: a lasting ESTALE says no

    def __init__(self, world):
        self.world = world
        self.number = 0

    @property
    def name(self):
        return type(self).__name__

    def path(self, *parts):
        return os.path.join(self.world.mount.path, self.name, *parts)

    def stored(self, *parts):
        return os.path.join(self.world.store, "refs", "default", self.name, *parts)

    def begin(self, number):
        self.number = number
        os.makedirs(self.path(), exist_ok=True)
        self.prepare()

    def prepare(self):
        pass

    def check(self, error):
        """After act(); `error` is what it raised, or None."""

    def redo(self):
        self.act()
        self.check(None)

    def content(self, which=0, size=24000):
        """Half of it is in the store already."""
        return (BASE[f"{LEAF}/weights.bin"][:size // 2]
                + samples.text((self.name, self.number, which), size // 2))

    def expect(self, path, *allowed):
        content = seen(path)
        assert content in allowed, (
            f"{path}: expected one of "
            f"{[samples.describe(one) for one in allowed]}, seen "
            f"{samples.describe(content)}")


class Publish(Case):
    """A new artifact. Who failed to write it may see it empty."""

    def prepare(self):
        self.file = self.path(f"d{self.number}", "graph.om")
        self.new = samples.om(self.number, payload=self.content())
        os.mkdir(os.path.dirname(self.file))

    def act(self):
        calls.write(self.file, self.new)

    def check(self, error):
        self.expect(self.file, *([self.new, None, b""] if error else [self.new]))


class Replace(Case):
    """Another version of an artifact."""

    def prepare(self):
        self.file = self.path("compiled_module")
        self.old = samples.module(self.number, 3000)
        calls.write(self.file, self.old)
        self.new = samples.module(self.number + 1000000, 9000)

    def act(self):
        calls.write(self.file, self.new)

    def check(self, error):
        self.expect(self.file, *([self.old, self.new, b""] if error
                                 else [self.new]))


class Plain(Case):
    """A plain file, synced."""

    def prepare(self):
        self.file = self.path(f"plain{self.number}.json")
        self.new = self.content()

    def act(self):
        fd = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            calls.write_fd(fd, self.new)
            os.fsync(fd)
        finally:
            os.close(fd)

    def check(self, error):
        if not error:
            self.expect(self.file, self.new)


class InPlace(Case):
    """A published plain file is appended to, cut, and written to."""

    def prepare(self):
        self.file = self.path(f"log{self.number}")
        self.old = self.content()
        calls.write(self.file, self.old)

    def act(self):
        fd = os.open(self.file, os.O_RDWR | os.O_APPEND)
        try:
            calls.write_fd(fd, b"more")
        finally:
            os.close(fd)
        os.truncate(self.file, 20000)
        fd = os.open(self.file, os.O_RDWR)
        try:
            os.pwrite(fd, b"less", 100)
        finally:
            os.close(fd)

    def check(self, error):
        cut = self.old[:20000]
        final = cut[:100] + b"less" + cut[104:]
        steps = [self.old, self.old + b"more", cut, final]
        self.expect(self.file, *(steps if error else [final]))

    def redo(self):
        calls.write(self.file, self.old)
        super().redo()


class Change(Case):
    """Mode and times of a published file."""

    def prepare(self):
        self.file = self.path(f"changed{self.number}.om")
        self.new = samples.om(self.number, payload=self.content())
        calls.write(self.file, self.new)

    def act(self):
        os.chmod(self.file, 0o640)
        os.utime(self.file, ns=(10**18, 10**18 + 1))

    def check(self, error):
        self.expect(self.file, self.new)
        st = os.stat(self.file)
        if not error:
            assert st.st_mode & 0o777 == 0o640, oct(st.st_mode)
            assert st.st_mtime_ns == 10**18 + 1, st.st_mtime_ns
        # What was refused does not show.
        with open(self.stored(os.path.basename(self.file)), "rb") as manifest:
            mode = int.from_bytes(manifest.read()[MODE_AT:MODE_AT + 2], "little")
        wait_until(lambda: os.stat(self.file).st_mode & 0o777 == mode,
                   f"the mode {mode:o} that the store has", 10)


class Attributes(Case):
    """Extended ones: of a published file, which is published once more, and of a
    directory, where they are the file system's."""

    def prepare(self):
        self.file = self.path(f"attributes{self.number}.om")
        self.directory = self.path(f"attributes{self.number}")
        self.new = samples.om(self.number, payload=self.content())
        calls.write(self.file, self.new)
        os.mkdir(self.directory)
        for path in self.file, self.directory:
            os.setxattr(path, "user.kept", b"kept")

    def act(self):
        for path in self.file, self.directory:
            os.setxattr(path, "user.new", b"new")
            os.removexattr(path, "user.new")
            os.setxattr(path, "user.last", b"last")
            assert sorted(os.listxattr(path)) == ["user.kept", "user.last"]
            assert os.getxattr(path, "user.kept") == b"kept"

    def check(self, error):
        self.expect(self.file, self.new)
        for path in self.file, self.directory:
            assert os.getxattr(path, "user.kept") == b"kept", path
            names = set(os.listxattr(path))
            if not error:
                assert names == {"user.kept", "user.last"}, names
            assert names <= {"user.kept", "user.new", "user.last"}, names

    def redo(self):
        for path in self.file, self.directory:
            for name in set(os.listxattr(path)) - {"user.kept"}:
                os.removexattr(path, name)
        super().redo()


class Fetch(Case):
    """Everything is read, and nothing is known to be whole from before."""

    def prepare(self):
        self.world.make_young()

    def act(self):
        for name, content in BASE.items():
            path = os.path.join(self.world.mount.path, name)
            found = read_uncached(path)
            assert found == content, f"{path}: {samples.describe(found)}"

    def redo(self):
        self.act()


class Readable(Case):
    def prepare(self):
        self.world.make_young()

    def act(self):
        path = os.path.join(self.world.mount.path, LEAF, "readable.py")
        found = read_uncached(path)
        assert found == self.world.text, samples.describe(found)

    def redo(self):
        self.act()


class List(Case):
    """Names, attributes, and links."""

    def prepare(self):
        self.world.make_young()

    def act(self):
        root = os.path.join(self.world.mount.path, LEAF)
        names = os.listdir(root)
        expected = {os.path.basename(name) for name in BASE} | {"readable.py"}
        self.missing = expected - set(names)
        for name in expected:
            os.stat(os.path.join(root, name))
        os.statvfs(root)
        fd = os.open(root, os.O_RDONLY)
        try:
            os.fsync(fd)
        finally:
            os.close(fd)

    def redo(self):
        self.act()
        assert not self.missing, self.missing


class Delete(Case):
    """An artifact, which goes to the trash, and a plain file."""

    asks_first = True

    def prepare(self):
        self.files = {self.path(f"deleted{self.number}.om"):
                      samples.om(self.number, payload=self.content()),
                      self.path(f"deleted{self.number}.txt"): self.content(1)}
        for path, content in self.files.items():
            calls.write(path, content)

    def act(self):
        for path in self.files:
            if is_there(path):
                os.unlink(path)

    def check(self, error):
        for path, content in self.files.items():
            self.expect(path, *([None, content] if error else [None]))


class Rename(Case):
    """A file, a file that is judged by its new name, and a directory."""

    asks_first = True

    def prepare(self):
        self.a = self.content()
        self.b = samples.om(self.number, payload=self.content(1))
        self.moves = [(self.path(f"a{self.number}"), self.path(f"b{self.number}")),
                      (self.path(f"c{self.number}"),
                       self.path(f"c{self.number}.om")),
                      (self.path(f"d{self.number}"), self.path(f"e{self.number}"))]
        calls.write(self.moves[0][0], self.a)
        calls.write(self.moves[1][0], self.b)
        os.mkdir(self.moves[2][0])
        calls.write(os.path.join(self.moves[2][0], "in"), self.a)

    def act(self):
        for old, new in self.moves:
            if is_there(old):
                os.rename(old, new)

    def redo(self):
        for old, new in self.moves:
            if is_there(old) and is_there(new):  # moved by half, by its content
                os.unlink(old)
        super().redo()

    def check(self, error):
        for (old, new), content, below in zip(
                self.moves, (self.a, self.b, self.a), ("", "", "/in")):
            found = [seen(old + below), seen(new + below)]
            allowed = [[None, content]]
            if error:
                allowed += [[content, None], [content, content]]
            assert found in allowed, (
                f"{old}, {new}: {[samples.describe(one) for one in found]}")


class Directory(Case):
    """Directories and symbolic links."""

    def prepare(self):
        self.dir = self.path(f"dir{self.number}")
        self.link = self.path(f"link{self.number}")

    def act(self):
        os.mkdir(self.dir)
        os.chmod(self.dir, 0o750)
        os.utime(self.dir, ns=(10**18, 10**18))
        os.symlink("target", self.link)
        os.utime(self.link, ns=(10**18, 10**18), follow_symlinks=False)
        assert os.readlink(self.link) == "target"
        os.unlink(self.link)
        os.rmdir(self.dir)

    def redo(self):
        if is_there(self.link):
            os.unlink(self.link)
        if is_there(self.dir):
            os.rmdir(self.dir)
        self.act()


class Large(Case):
    """An artifact that is mapped, not copied, to be judged; most of it a hole."""

    kinds = ("fallocate64", "mmap64")  # the others are tried with smaller ones
    SIZE = 65 << 20

    def prepare(self):
        self.file = self.path("large.om")

    def act(self):
        fd = os.open(self.file, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            os.pwrite(fd, samples.om_start(self.SIZE - samples.OM_START), 0)
            os.ftruncate(fd, self.SIZE)
        finally:
            os.close(fd)

    def check(self, error):
        assert error or os.stat(self.file).st_size == self.SIZE

    def redo(self):
        with contextlib.suppress(FileNotFoundError):
            os.unlink(self.file)


class Command(Case):
    """A command of its own. With status 0 its result has to be right."""

    command = True
    tells = True  # which file, and why it failed
    arguments = ()

    def run(self, environment=None):
        self.done = tacfs(*self.arguments, env=environment)
        return self.done

    def act(self):
        self.run(self.world.environment)

    def text(self):
        return (self.done.stdout + self.done.stderr).decode()

    def is_told(self, error):
        """Whether a failure names a file, and why."""
        told = self.done.stderr.decode() + self.done.stdout.decode()
        return ": " in told and (os.strerror(error) in told
                                 or "mounted read-only" in told)

    def redo(self):
        self.run()
        assert self.done.returncode == 0, self.text()
        self.check(None)


class Collect(Command):
    def prepare(self):
        self.arguments = ("gc", "--grace=0", "--keep=0", self.world.store)
        gone = self.path("gone.om")
        calls.write(gone, samples.om(self.number, payload=self.content(2, 12000)))
        os.unlink(gone)
        calls.write(self.path("stays"), self.content(3, 12000))

    def check(self, error):
        self.expect(self.path("stays"), self.content(3, 12000))
        if not self.done.returncode:
            assert not samples.files_below(
                os.path.join(self.world.store, "trash", "packs")), self.text()


class Check(Command):
    def prepare(self):
        self.arguments = ("fsck", "--read-data", self.world.store)

    def check(self, error):
        assert self.done.returncode in (0, 3), self.text()


class Repair(Check):
    def prepare(self):
        self.arguments = ("fsck", "--repair", "--read-data", self.world.store)


class Undelete(Command):
    def prepare(self):
        self.file = self.path(f"back{self.number}.om")
        self.old = samples.om(self.number, payload=self.content())
        self.new = samples.om(self.number, payload=self.content(1))
        for content in (self.old, self.new):
            calls.write(self.file, content)
            os.unlink(self.file)
        self.arguments = ("undelete", self.world.store,
                          os.path.relpath(self.file, self.world.mount.path))

    def check(self, error):
        self.expect(self.file, *([None, self.new] if self.done.returncode
                                 else [self.new]))

    def redo(self):
        self.run()
        self.expect(self.file, self.new)


class Stats(Command):
    def prepare(self):
        self.arguments = ("stats", "--json", self.world.store)
        self.run()
        self.right = self.figures()

    def figures(self):
        return {key: value for key, value in json.loads(self.done.stdout).items()
                if key not in ("live", "stored_bytes", "allocated_bytes", "ratio")}

    def check(self, error):
        if not self.done.returncode:
            found = self.figures()
            assert found == self.right, f"{found}, not {self.right}"


class Doctor(Command):
    """It tells what does not work, and that is what fails."""

    tells = False

    def prepare(self):
        self.arguments = ("doctor", self.world.store)

    def redo(self):
        self.run()
        assert self.done.returncode in (0, 1), self.text()


class Create(Command):
    """A mount that makes its store, is used, and ends.

    ESTALE says that another host has removed the directory, which clients get as
    ENOENT; the log says no more.
    """

    def prepare(self):
        self.mount = self.world.new_mount(self.number)

    def act(self):
        self.done = self.serve(self.mount)

    def serve(self, mount):
        """The result of the daemon, as that of a command."""
        status = 0
        told = ""
        try:
            mount.start()
            calls.write(os.path.join(mount.path, "file"), self.content())
            assert seen(os.path.join(mount.path, "file")) == self.content()
            mount.stop()
        except AssertionError:
            if mount.process.poll() in (None, 0):
                raise
            status = mount.process.returncode
        except OSError as error:
            if mount.process.poll() is not None:
                raise AssertionError(mount.log_text()) from error
            status = 1
            if error.errno == errno.ENOENT:
                told = f"{error}: as when the {os.strerror(errno.ESTALE)}"
        finally:
            mount.discard()
        return types.SimpleNamespace(returncode=status, stdout=b"",
                                     stderr=(mount.log_text() + told).encode())

    def redo(self):
        self.act()
        assert self.done.returncode == 0, self.text()


CASES = (Publish, Replace, Plain, InPlace, Change, Attributes, Fetch, Readable, List,
         Delete, Rename, Directory, Large, Collect, Check, Repair, Undelete, Stats,
         Doctor, Create)
SLOW = (Repair, Stats, Doctor)
