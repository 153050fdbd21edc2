# SPDX-License-Identifier: Apache-2.0
"""Random calls on names and files, on a mount and on a plain directory at once.

    python3 random_tree.py MOUNTED PLAIN SEED COUNT [artifacts]

Both directories have to be equal, for instance empty. After each call what it gave
is compared, and from time to time, at the start and at the end all that there is.
With `artifacts` some of the files are compiled_modules: they are written whole, and
who reads an old version keeps it.

Exits with 1 where the two differ, and says how it came to that.
"""
import os
import random
import sys

from tree_world import EXCHANGE, MARKED, NOREPLACE, World, rename

import samples

NAMES = ["a", "b", "c", "d", "a.lock", "x.json", "\xe4\xf6\u20ac", "raw\udcff\udc80",
         "n" * 255]
ARTIFACT_NAMES = ["a", "b", "compiled_module"]
SLOTS = range(6)
MAPS = range(3)
DEEPEST = 5
SIZE_MAX = 40000
OFTEN = 40  # calls between two comparisons of everything
LAST = 30  # calls that a failure tells

FLAGS = [(0.6, os.O_CREAT), (0.15, os.O_EXCL), (0.15, os.O_TRUNC),
         (0.15, os.O_APPEND), (0.05, os.O_NOFOLLOW), (0.05, os.O_DIRECTORY)]


class Chooser:
    """What to do next. `plain` is where the names that there are come from."""

    def __init__(self, seed, plain, artifacts, exchange):
        self.random = random.Random(seed)
        self.plain = plain
        self.artifacts = artifacts
        self.exchange = exchange
        self.names = ARTIFACT_NAMES if artifacts else NAMES
        self.look()

    def look(self):
        self.directories, self.paths = [""], []
        for directory, directories, names in os.walk(self.plain.root):
            below = directory[len(self.plain.root):]
            self.directories += sorted(f"{below}/{name}" for name in directories)
            self.paths += sorted(f"{below}/{name}" for name in directories + names)
        self.directories.sort()
        self.paths.sort()

    def fresh(self):
        """A path in a directory, where something may be or not."""
        parents = [path for path in self.directories if path.count("/") < DEEPEST]
        return f"{self.random.choice(parents)}/{self.random.choice(self.names)}"

    def path(self):
        """Mostly of something; now and then as seen from the working directory."""
        chance = self.random.random()
        if chance < 0.1:
            return self.random.choice(self.names)
        if chance < 0.15:
            return "./" + self.random.choice(self.names)
        if chance < 0.75 and self.paths:
            return self.random.choice(self.paths)
        return self.fresh()

    def slot(self):
        return self.random.choice(SLOTS)

    def size(self):
        return self.random.choice([0, 1, 4095, 4096, 4097,
                                   self.random.randrange(SIZE_MAX)])

    def bytes(self):
        return self.random.randbytes(self.random.choice(
            [1, 10, 300, 4096, self.random.randrange(1, 20000)]))

    def mode(self):
        return 0o700 | self.random.randrange(0o100)

    def when(self):
        """A time long ago, some of them before 1970."""
        return self.random.randrange(-10**18, MARKED)

    def flags(self):
        if self.artifacts:
            return os.O_RDONLY
        flags = self.random.choice([os.O_RDONLY, os.O_RDWR, os.O_RDWR, os.O_WRONLY])
        for chance, flag in FLAGS:
            if self.random.random() < chance:
                flags |= flag
        return flags

    def content(self):
        return samples.module(self.random.randrange(20), 3000)

    def link_flags(self):
        return self.random.choice([0, 0, 0, NOREPLACE] +
                                  ([EXCHANGE] if self.exchange else []))

    def changes(self):
        return [(self.random.choice(self.names), self.random.choice(self.names))
                for _ in range(3)]

    def call(self):
        pick, one = self.random.choice, self.random.random() < 0.5
        kinds = [
            (10, lambda: ("mkdir", self.fresh(), self.mode())),
            (4, lambda: ("rmdir", pick(self.directories) or "/a")),
            (6, lambda: ("unlink", self.path())),
            (14, lambda: ("rename", self.path(), self.path(), self.link_flags())),
            (4, lambda: ("symlink", pick(self.names), self.fresh())),
            (1, lambda: ("symlink", "/".join(pick(self.names) for _ in "12"),
                         self.fresh())),
            (2, lambda: ("readlink", self.path())),
            (0.3, lambda: ("rmtree", self.path())),
            (3, lambda: ("chmod", self.path(), self.mode())),
            (4, lambda: ("utime", self.path(), self.when(), one)),
            (6, lambda: ("stat", self.path(), one)),
            (4, lambda: ("fstat", self.slot())),
            (1, lambda: ("access", self.path(), pick([os.F_OK, os.R_OK, os.W_OK]))),
            (14, lambda: ("open", self.slot(), self.path() if one else self.fresh(),
                          self.flags(), self.mode() & 0o666)),
            (6, lambda: ("close", self.slot())),
            (7, lambda: ("read", self.slot(), pick([None, self.size()]),
                         self.size())),
            (2, lambda: ("fsync", self.slot())),
            (4, lambda: ("content", self.path())),
            (4, lambda: ("map", pick(MAPS), self.slot(), one)),
            (2, lambda: ("unmap", pick(MAPS))),
            (5, lambda: ("map_read", pick(MAPS))),
            (4, lambda: ("list", pick(self.directories) or "/")),
            (1, lambda: ("list_open", self.slot())),
            (1, lambda: ("scan", pick(self.directories) or "/", self.changes())),
            (3, lambda: ("chdir", pick(self.directories) or "/")),
            (1, lambda: ("chdir", self.path())),
            (1, lambda: ("fchdir", self.slot())),
            (2, lambda: ("getcwd",)),
        ] + (self.whole_writes() if self.artifacts else self.partial_writes())
        weights, makers = zip(*kinds)
        return self.random.choices(makers, weights)[0]()

    # fchmod and futimens do not say of which version.

    def whole_writes(self):
        return [(14, lambda: ("put", self.fresh(), self.content())),
                (4, lambda: ("put", self.path(), self.content()))]

    def partial_writes(self):
        pick = self.random.choice
        return [(12, lambda: ("write", self.slot(), pick([None, self.size()]),
                              self.bytes())),
                (2, lambda: ("copy", self.path(), self.path())),
                (3, lambda: ("ftruncate", self.slot(), self.size())),
                (1, lambda: ("fchmod", self.slot(), self.mode())),
                (2, lambda: ("futime", self.slot(), self.when())),
                (3, lambda: ("truncate", self.path(), self.size())),
                (5, lambda: ("map_write", pick(MAPS), self.size(), self.bytes(),
                             self.random.random() < 0.3))]


def shown(value):
    if isinstance(value, str) and len(value) > 200:
        value = value.replace("n" * 255, "(255 times n)")
    if isinstance(value, bytes) and len(value) > 12:
        return f"<{len(value)} bytes {value[:8].hex()}…>"
    if isinstance(value, (list, tuple)):
        return "[" + ", ".join(shown(item) for item in value) + "]"
    return repr(value)


def difference(mounted, plain):
    """The first bytes that differ, or both values."""
    if isinstance(mounted, bytes) and isinstance(plain, bytes):
        at = next((i for i, (m, p) in enumerate(zip(mounted, plain)) if m != p),
                  min(len(mounted), len(plain)))
        return (f"{len(plain)} bytes expected, {len(mounted)} seen; from {at} on "
                f"{plain[at:at + 8].hex()} expected, {mounted[at:at + 8].hex()} seen")
    return f"expected {shown(plain)}, seen {shown(mounted)}"


class Run:
    def __init__(self, mounted, plain, seed, artifacts):
        os.umask(0o022)
        self.seed = seed
        self.mounted = World(mounted, True, artifacts)
        self.plain = World(plain, False, artifacts)
        self.chooser = Chooser(seed, self.plain, artifacts, can_exchange(mounted))
        self.log = []

    def fail(self, what):
        print(f"seed {self.seed}, call {len(self.log) - 1}: {what}", file=sys.stderr)
        for number, call in list(enumerate(self.log))[-LAST:]:
            print(f"  {number}: {call}", file=sys.stderr)
        sys.exit(1)

    def compare_trees(self):
        mounted, plain = self.mounted.tree(), self.plain.tree()
        for path in sorted({*mounted, *plain}):
            seen, expected = mounted.get(path), plain.get(path)
            if seen != expected:
                self.fail(f"{path!r}: {difference(seen, expected)}")

    def step(self):
        name, *arguments = self.chooser.call()
        self.log.append(f"{name} {', '.join(map(shown, arguments))}")
        plain = self.plain.do(name, *arguments)
        self.log[-1] += f" = {shown(plain)}"
        mounted = self.mounted.do(name, *arguments)
        if plain != mounted:
            self.fail(f"{name}: {difference(mounted, plain)}")
        if plain is None:
            self.chooser.look()

    def all(self, count):
        self.compare_trees()
        for number in range(1, count + 1):
            self.step()
            if number % OFTEN == 0:
                self.compare_trees()
        self.mounted.end()
        self.plain.end()
        self.compare_trees()


def can_exchange(directory):
    """Whether two names there can be exchanged at all."""
    paths = [os.path.join(directory, name) for name in (".one", ".two")]
    for path in paths:
        os.mkdir(path)
    try:
        rename(*paths, EXCHANGE)
        return True
    except OSError:
        return False
    finally:
        for path in paths:
            os.rmdir(path)


def main():
    mounted, plain, seed, count, *more = sys.argv[1:]
    Run(mounted, plain, int(seed), more == ["artifacts"]).all(int(count))


if __name__ == "__main__":
    main()
