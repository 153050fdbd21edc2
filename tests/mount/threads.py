# SPDX-License-Identifier: Apache-2.0
"""Threads for agents that do everything at once to a few names in a mount.

Whatever has one of the shared names was written whole by somebody, so all of it is
known; each thread also has a file of its own, of which it knows every byte. Names
come and go, so a call may find one missing, or taken: no other error is right.
"""
import collections
import contextlib
import errno
import fcntl
import mmap
import os
import random
import shutil
import threading
import time

import calls
import samples

RACES = (errno.ENOENT, errno.EEXIST, errno.ENOTEMPTY)
DIRECTORIES = ("one", "two/deep")
NAMES = 3  # of each kind in each directory
VERSIONS = 6  # of each content
SIZE = 20000
ENOUGH = 5  # errors that end a thread

OMS = [samples.om(number, SIZE) for number in range(VERSIONS)]
MODULES = [samples.module(number, SIZE) for number in range(VERSIONS)]
NOTES = [samples.text(("note", number), SIZE) for number in range(VERSIONS)]
IDXS = [samples.idx("graph_0.om", key=f"graph_{number}") for number in range(VERSIONS)]
VALUES = [b"%d" % number * 100 for number in range(VERSIONS)]

_writing = collections.defaultdict(threading.Lock)


class Worker:
    def __init__(self, root, seed):
        self.root = root
        self.seed = seed
        self.chance = random.Random(seed)
        self.errors = []
        self.counts = collections.Counter()
        self.held = collections.deque()
        self.own = os.path.join(root, f"own-{seed}")
        self.model = b""

    def run(self, deadline):
        kinds = [getattr(self, name) for name in KINDS]
        while time.monotonic() < deadline and len(self.errors) < ENOUGH:
            self.turn(self.chance.choice(kinds))
        while self.held:
            self.check_held()

    def turn(self, kind):
        self.counts[kind.__name__] += 1
        try:
            kind()
        except (OSError, shutil.Error) as error:
            number = getattr(error, "errno", None)
            if number not in RACES:
                self.errors.append(f"{kind.__name__}: {error!r}")
        except AssertionError as error:
            self.errors.append(f"{kind.__name__}: {error}")

    def directory(self):
        return os.path.join(self.root, self.chance.choice(DIRECTORIES))

    def name(self, pattern):
        return os.path.join(self.directory(),
                            pattern.format(self.chance.randrange(NAMES)))

    def expect(self, seen, known, path):
        assert seen in known, f"{path}: {samples.describe(seen)}"

    def write(self, path, content, end=None):
        """In two pieces, the second up to `end`."""
        half = len(content) // 2
        fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
        try:
            calls.write_fd(fd, content[:half])
            calls.write_fd(fd, content[half:end])
        finally:
            os.close(fd)

    # artifacts

    def write_alone(self, path, content, end=None, write=None):
        """The threads of a process share what they have not published yet."""
        with _writing[os.path.basename(path)]:
            (write or self.write)(path, content, *([end] if end else []))

    def publish(self):
        self.write_alone(self.name("graph_{}.om"), self.chance.choice(OMS))

    def publish_half(self):
        """Stays private to this process, which may see it, or another's whole one."""
        self.write_alone(self.name("graph_{}.om"), self.chance.choice(OMS), end=-100)

    def save(self):
        self.write_alone(os.path.join(self.directory(), "compiled_module"),
                         self.chance.choice(MODULES), write=calls.save)

    def index(self):
        self.write_alone(os.path.join(self.directory(), "graph_0.idx"),
                         self.chance.choice(IDXS))

    def scribble(self):
        """At once with its siblings, into what nobody expects anything of."""
        self.write(self.name("scrap_{}.om"), self.chance.choice(OMS))

    def read(self):
        path = self.name("graph_{}.om")
        fd = os.open(path, os.O_RDONLY)
        try:
            self.check_artifact(calls.read_fd(fd), OMS, path)
        finally:
            os.close(fd)

    def check_artifact(self, seen, known, path):
        """A process also sees what its threads have not published, or only begun."""
        assert seen in known or any(one.startswith(seen) for one in known), (
            f"{path}: {samples.describe(seen)}")

    def read_index(self):
        path = os.path.join(self.directory(), "graph_0.idx")
        self.check_artifact(calls.read(path), IDXS, path)

    def read_module(self):
        path = os.path.join(self.directory(), "compiled_module")
        self.check_artifact(calls.read(path), MODULES, path)

    def read_readable(self):
        text = calls.read(os.path.join(self.directory(), "readable.py"))
        assert text, "an empty readable.py"

    def map_and_hold(self):
        """What a descriptor and a mapping have, they keep."""
        path = self.name("note{}")
        fd = os.open(path, os.O_RDONLY)
        pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        self.held.append((path, fd, pages))
        self.expect(bytes(pages), NOTES, path)
        if len(self.held) > 4:
            self.check_held()

    def check_held(self):
        path, fd, pages = self.held.popleft()
        try:
            self.expect(bytes(pages), NOTES, path)
            self.expect(calls.read_fd(fd), NOTES, path)
        finally:
            pages.close()
            os.close(fd)

    # shared plain files

    def replace(self):
        path = self.name("note{}")
        temporary = f"{path}.{self.seed}"
        self.write(temporary, self.chance.choice(NOTES))
        os.rename(temporary, path)

    def exchange(self):
        one, two = self.name("note{}"), self.name("note{}")
        if one != two:
            os.rename(one, two)

    def read_note(self):
        path = self.name("note{}")
        self.expect(calls.read(path), NOTES, path)

    def append(self):
        fd = os.open(os.path.join(self.directory(), "log"),
                     os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        try:
            calls.write_fd(fd, b"a line\n")
            os.fsync(fd)
        finally:
            os.close(fd)

    def read_log(self):
        text = calls.read(os.path.join(self.directory(), "log"))
        assert text.replace(b"a line\n", b"") == b"", samples.describe(text)

    def lock(self):
        path = self.name("lock{}")
        os.close(os.open(path, os.O_CREAT | os.O_EXCL | os.O_RDWR, 0o600))
        os.unlink(path)

    def set_attribute(self):
        os.setxattr(self.name("note{}"), "user.value", self.chance.choice(VALUES))

    def get_attribute(self):
        path = self.name("note{}")
        with contextlib.suppress(OSError):
            value = os.getxattr(path, "user.value")
            assert value in VALUES, f"{path}: {value!r}"
        assert set(os.listxattr(path)) <= {"user.value"}
        os.getxattr(path, "user.tacfs.digest")

    def change(self):
        path = self.name(self.chance.choice(("note{}", "graph_{}.om")))
        os.chmod(path, self.chance.choice((0o600, 0o640)))
        os.utime(path, ns=(self.chance.randrange(10**18),) * 2)

    # names

    def list(self):
        for directory, _, names in os.walk(self.root):
            for name in names:
                calls.stat_errno(os.path.join(directory, name))

    def unlink(self):
        os.unlink(self.name(self.chance.choice(("note{}", "graph_{}.om"))))

    def clear(self):
        """As a run starts that wants no cache."""
        if self.chance.random() < 0.3:
            shutil.rmtree(self.directory(), ignore_errors=True)

    def make(self):
        os.makedirs(self.directory(), exist_ok=True)

    def move_directory(self):
        one, two = self.name("directory{}"), self.name("directory{}")
        with contextlib.suppress(FileExistsError):
            os.mkdir(one)
        if one != two:
            os.rename(one, two)
        os.rmdir(two)

    def link(self):
        path = self.name("link{}")
        os.symlink("to", path)
        assert os.readlink(path) == "to"
        os.unlink(path)

    def measure(self):
        os.statvfs(self.root)
        os.stat(self.directory())

    # what nobody else touches

    def write_own(self):
        fd = os.open(self.own, os.O_RDWR | os.O_CREAT, 0o600)
        try:
            at = self.chance.randrange(SIZE)
            piece = self.chance.choice(NOTES)[:self.chance.randrange(1, SIZE)]
            os.pwrite(fd, piece, at)
            self.model = (self.model[:at].ljust(at, b"\0") + piece
                          + self.model[at + len(piece):])
            if self.chance.random() < 0.2:
                os.fsync(fd)
            self.check_own(calls.read_fd(fd))
        finally:
            os.close(fd)

    def check_own(self, seen):
        assert seen == self.model, (f"{self.own}: expected "
                                    f"{samples.describe(self.model)}, seen "
                                    f"{samples.describe(seen)}")

    def read_own(self):
        self.check_own(calls.read(self.own))

    def truncate_own(self):
        size = self.chance.randrange(2 * SIZE)
        os.truncate(self.own, size)
        self.model = self.model[:size].ljust(size, b"\0")
        self.read_own()

    def map_own(self):
        if not self.model:
            return
        fd = os.open(self.own, os.O_RDWR)
        try:
            with mmap.mmap(fd, len(self.model)) as pages:
                at = self.chance.randrange(len(self.model))
                pages[at] = 42
                self.model = self.model[:at] + b"*" + self.model[at + 1:]
                pages.flush()
            fcntl.flock(fd, fcntl.LOCK_EX)
            self.check_own(calls.read_fd(fd))
        finally:
            os.close(fd)

    def move_own(self):
        moved = f"{self.own}.moved"
        os.rename(self.own, moved)
        os.rename(moved, self.own)


KINDS = [name for name, value in vars(Worker).items()
         if callable(value) and not name.startswith("_") and name not in (
             "run", "turn", "directory", "name", "expect", "write", "write_alone",
             "check_artifact", "check_held", "check_own")]


def run(root, seconds, seed, count):
    """`count` threads; ({kind: how often it was tried}, errors)."""
    workers = [Worker(root, seed + number) for number in range(count)]
    deadline = time.monotonic() + seconds
    threads = [threading.Thread(target=worker.run, args=(deadline,))
               for worker in workers]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return (sum((worker.counts for worker in workers), collections.Counter()),
            [error for worker in workers for error in worker.errors])
