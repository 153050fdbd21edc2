# SPDX-License-Identifier: Apache-2.0
"""Random calls on plain names give what they give on another file system.

The same calls are made in the mount and in an ordinary directory; results,
errors and what is then there must be equal. A failure names its seed and the
last calls. TACFS_SEED repeats one run.
"""
import errno
import os
import random
import stat

import calls
import harness
import samples

NAMES = ("a", "b.json", "c.lock", "d.tmp")
PLACES = ("", "dir0", "dir1", "dir0/sub")
SIZES = (0, 1, 100, 2048, 2049, 4095, 4096, 5000, 65536, 70000)
STEPS = harness.amount(400, 5000)
SEEDS = harness.amount(4, 40)
TIMES = (10**18, 10**18 + 1, 1234567890 * 10**9 + 987654321)


class Side:
    """One of the two directories, and what is open there."""

    def __init__(self, root):
        self.root = root
        self.open = {}

    def path(self, name):
        return os.path.join(self.root, name)

    def attempt(self, call, *arguments):
        """The result of a call, or the name of its error."""
        try:
            return getattr(self, call)(*arguments)
        except OSError as error:
            return errno.errorcode.get(error.errno, error.errno)

    def write_whole(self, name, content, mode):
        calls.write(self.path(name), content, mode)

    def append(self, name, content):
        calls.append(self.path(name), content)

    def write_at(self, name, content, offset):
        fd = os.open(self.path(name), os.O_RDWR)
        try:
            return os.pwrite(fd, content, offset)
        finally:
            os.close(fd)

    def truncate(self, name, size):
        os.truncate(self.path(name), size)

    def read(self, name):
        return calls.read(self.path(name))

    def read_at(self, name, size, offset):
        fd = os.open(self.path(name), os.O_RDONLY)
        try:
            return os.pread(fd, size, offset)
        finally:
            os.close(fd)

    def create(self, name, mode):
        os.close(os.open(self.path(name), os.O_WRONLY | os.O_CREAT | os.O_EXCL,
                         mode))

    def rename(self, name, other):
        os.rename(self.path(name), self.path(other))

    def unlink(self, name):
        os.unlink(self.path(name))

    def mkdir(self, name):
        os.mkdir(self.path(name))

    def rmdir(self, name):
        os.rmdir(self.path(name))

    def chmod(self, name, mode):
        os.chmod(self.path(name), mode)

    def utime(self, name, time):
        os.utime(self.path(name), ns=(time, time))
        return os.stat(self.path(name)).st_mtime_ns

    def symlink(self, name, target):
        os.symlink(target, self.path(name))

    def listdir(self, name):
        return sorted(os.listdir(self.path(name)))

    def status(self, name):
        status = os.lstat(self.path(name))
        size = status.st_size if stat.S_ISREG(status.st_mode) else 0
        return oct(status.st_mode), size

    def hold(self, name, flags, slot):
        """Opens a descriptor that later calls use; one for each slot."""
        self.drop(slot)
        self.open[slot] = os.open(self.path(name), flags, 0o640)

    def drop(self, slot):
        if slot in self.open:
            os.close(self.open.pop(slot))

    def drop_all(self):
        for slot in list(self.open):
            self.drop(slot)

    def held_write(self, slot, content, offset):
        if slot in self.open:
            return os.pwrite(self.open[slot], content, offset)
        return None

    def held_read(self, slot, size, offset):
        if slot in self.open:
            return os.pread(self.open[slot], size, offset)
        return None

    def held_truncate(self, slot, size):
        if slot in self.open:
            os.ftruncate(self.open[slot], size)

    def held_sync(self, slot):
        if slot in self.open:
            os.fsync(self.open[slot])

    def held_size(self, slot):
        if slot in self.open:
            return os.fstat(self.open[slot]).st_size
        return None

    def tree(self):
        """{path: (type and mode, size, content or target)}"""
        found = {}
        for directory, subdirectories, names in os.walk(self.root):
            for name in subdirectories + names:
                path = os.path.relpath(os.path.join(directory, name), self.root)
                mode, size = self.status(path)
                what = None
                if stat.S_ISREG(int(mode, 8)):
                    what = self.read(path) if int(mode, 8) & 0o400 else None
                elif stat.S_ISLNK(int(mode, 8)):
                    what = os.readlink(self.path(path))
                found[path] = mode, size, what
        return found


class Chooser:
    """Draws calls; weights keep the tree populated."""

    # Descriptors stay within files that nothing else opens for writing: which
    # version a reader from before sees is not this test's question.
    HELD = ("held0", "held1")

    def __init__(self, seed):
        self.random = random.Random(seed)

    def name(self):
        place = self.random.choice(PLACES)
        return os.path.join(place, self.random.choice(NAMES))

    def directory(self):
        return self.random.choice(PLACES[1:])

    def content(self):
        size = self.random.choice(SIZES)
        make = self.random.choice((samples.noise, samples.text))
        return make(self.random.randrange(5), size)

    def offset(self):
        return self.random.choice((0, 1, 10, 4000, 65530, 70000))

    def mode(self):
        return self.random.choice((0o600, 0o644, 0o755, 0o400, 0o666))

    def draw(self):
        kind = self.random.choices(
            ("write_whole", "append", "write_at", "truncate", "read", "read_at",
             "create", "rename", "unlink", "mkdir", "rmdir", "chmod", "utime",
             "symlink", "listdir", "status", "move_directory", "held"),
            (10, 6, 6, 4, 8, 4, 3, 8, 5, 6, 3, 4, 4, 1, 3, 6, 2, 14))[0]
        return getattr(self, kind)()

    def write_whole(self):
        return "write_whole", self.name(), self.content(), self.mode()

    def append(self):
        return "append", self.name(), self.content()

    def write_at(self):
        return "write_at", self.name(), self.content(), self.offset()

    def truncate(self):
        return "truncate", self.name(), self.random.choice(SIZES)

    def read(self):
        return "read", self.name()

    def read_at(self):
        return "read_at", self.name(), self.random.choice(SIZES), self.offset()

    def create(self):
        return "create", self.name(), self.mode()

    def rename(self):
        return "rename", self.name(), self.name()

    def unlink(self):
        return "unlink", self.name()

    def mkdir(self):
        return "mkdir", self.directory()

    def rmdir(self):
        return "rmdir", self.directory()

    def chmod(self):
        return "chmod", self.name(), self.mode()

    def utime(self):
        return "utime", self.name(), self.random.choice(TIMES)

    def symlink(self):
        return "symlink", self.name(), self.random.choice(NAMES)

    def listdir(self):
        return "listdir", self.random.choice(PLACES)

    def status(self):
        return "status", self.name()

    def move_directory(self):
        return "rename", self.directory(), self.directory()

    def held(self):
        """A call on a file of its own that may stay open over other calls."""
        slot = self.random.choice(self.HELD)
        if self.random.random() < 0.2:
            flags = self.random.choice((os.O_CREAT, os.O_CREAT | os.O_TRUNC))
            return "hold", slot, os.O_RDWR | flags, slot
        return self.random.choice((
            ("held_write", slot, self.content(), self.offset()),
            ("held_read", slot, self.random.choice(SIZES), self.offset()),
            ("held_truncate", slot, self.random.choice(SIZES)),
            ("held_sync", slot), ("held_size", slot), ("drop", slot),
            ("unlink", slot)))


class RandomCalls(harness.MountTest):
    def test_random_calls_give_what_they_give_elsewhere(self):
        only = os.environ.get("TACFS_SEED")
        for seed in [int(only)] if only else range(SEEDS):
            self.run_seed(seed)

    def run_seed(self, seed):
        self.seed = seed
        mounted = Side(self.path(f"seed{seed}"))
        other = Side(harness.new_directory(f"seed{seed}"))
        os.mkdir(mounted.root)
        chooser = Chooser(seed)
        for side in (mounted, other):
            self.addCleanup(side.drop_all)
        done = []
        for _ in range(STEPS):
            call = chooser.draw()
            done.append(call)
            self.compare(done, other.attempt(*call), mounted.attempt(*call))
        self.compare_trees(done, other, mounted)
        mounted.drop_all()
        other.drop_all()
        self.mount.restart()
        self.compare_trees(done + [("remount",)], other, mounted)

    def compare_trees(self, done, other, mounted):
        expected, seen = other.tree(), mounted.tree()
        for path in sorted(set(expected) | set(seen)):
            self.compare(done + [("at the end", path)], expected.get(path),
                         seen.get(path))

    def compare(self, done, expected, seen):
        if seen != expected:
            last = "\n  ".join(brief(call) for call in done[-12:])
            self.fail(f"seed {self.seed}, after {len(done)} calls, expected {brief(expected)}, seen "
                      f"{brief(seen)}; the last calls:\n  {last}")


def brief(value):
    if isinstance(value, bytes):
        return samples.describe(value) if len(value) > 20 else repr(value)
    if isinstance(value, tuple):
        return "(" + ", ".join(brief(part) for part in value) + ")"
    return repr(value)


if __name__ == "__main__":
    harness.main()
