# SPDX-License-Identifier: Apache-2.0
"""A process that publishes, moves, deletes and reads in a store being collected.

    collecting.py SEED JOURNALS MOUNT...

It goes on until its standard input ends.

What every path may show is known at any time: its content follows from its name,
which ends in the number of the content, or, in `shared` and `passing`, is one of a
few.

- `kept/SEED-…/`: trees, never deleted. What is in the journal must be there, for
  every reader on every mount.
- `moved/SEED/`: files and directories that their owner renames and changes.
- `shared/`: names that all write, each time with one of a few contents.
- `passing/`: trees that all write, delete, and bring back.

The status is 1, and standard error says why, when something else was seen.
"""
import errno
import os
import random
import select
import shutil
import sys

sys.path.insert(0, os.path.join(os.path.dirname(os.path.abspath(__file__)), "..",
                                "mount"))

import calls  # noqa: E402
import samples  # noqa: E402

LARGEST = 300000
PASSING = 12  # trees
SHARED = 20  # names
ARTIFACTS = ("compiled_module", ".om")  # never seen but whole
CHOICES = 4  # contents of a shared name
# What who writes to a tree that another deletes may see.
DELETED = (errno.ENOENT, errno.ESTALE, errno.ENOTEMPTY, errno.EEXIST)


def load_trees():
    """[{path: content}] of the real caches: artifacts, without large ones."""
    trees = []
    for scenario in samples.scenarios():
        root = samples.tree(scenario)
        contents = {path: calls.read(os.path.join(root, path))
                    for path in samples.files_below(root)}
        trees.append({path: content for path, content in contents.items()
                      if len(content) <= LARGEST and path.endswith(ARTIFACTS)})
    return [tree for tree in trees if tree]


class Worker:
    def __init__(self, seed, journals, mounts):
        self.seed = seed
        self.journals = journals
        self.mounts = mounts
        self.mount = mounts[seed % len(mounts)]
        self.random = random.Random(seed)
        self.trees = load_trees()
        self.all = sorted({content for tree in self.trees
                           for content in tree.values()})
        self.models = sorted({content for tree in self.trees
                              for path, content in tree.items()
                              if path.endswith(".om")}) or [samples.om(1)]
        self.journal = os.open(os.path.join(journals, str(seed)),
                               os.O_WRONLY | os.O_CREAT | os.O_APPEND, 0o600)
        self.count = 0
        self.moved = {}  # path below moved/SEED: content

    def run(self):
        acts = (self.keep, self.check_kept, self.check_kept, self.share, self.share,
                self.check_shared, self.move, self.move, self.move, self.move_directory,
                self.pass_by, self.pass_by, self.delete, self.check_passing,
                self.check_passing)
        while not select.select([0], [], [], 0)[0]:
            self.random.choice(acts)()
        self.check_moved()

    def expect(self, path, contents, missing=False):
        kind, seen = calls.look(path)
        if kind == "errno" and missing and seen == errno.ENOENT:
            return
        if kind == "errno":
            raise AssertionError(f"{path}: seen {errno.errorcode[seen]}")
        if seen not in contents:
            raise AssertionError(f"{path}: seen {samples.describe(seen)}, expected "
                                 + " or ".join(map(samples.describe, contents)))

    # Trees that stay

    def keep(self):
        number = self.random.randrange(len(self.trees))
        self.count += 1
        top = f"{self.seed}-{self.count}-{number}"
        for path, content in self.trees[number].items():
            calls.save(os.path.join(self.mount, "kept", top, path), content)
        os.write(self.journal, f"{top}\n".encode())

    def check_kept(self):
        names = os.listdir(self.journals)
        lines = calls.read(os.path.join(self.journals, self.random.choice(names)))
        if lines:
            top = self.random.choice(lines.decode().split())
            self.check_tree(self.random.choice(self.mounts), top)

    def check_tree(self, mount, top):
        tree = self.trees[int(top.rpartition("-")[2])]
        for path, content in tree.items():
            self.expect(os.path.join(mount, "kept", top, path), [content])

    # Names that all write

    def choices(self, number):
        return [self.all[(number * CHOICES + i) % len(self.all)]
                for i in range(CHOICES)]

    def share(self):
        number = self.random.randrange(SHARED)
        path = os.path.join(self.mount, "shared", str(number))
        temporary = f"{path}.{self.seed}"
        calls.write(temporary, self.random.choice(self.choices(number)))
        os.rename(temporary, path)
        calls.write(self.marker(number), b"")
        if self.random.random() < 0.3:
            os.chmod(path, self.random.choice((0o600, 0o640)))

    def check_shared(self):
        number = self.random.randrange(SHARED)
        path = os.path.join(self.random.choice(self.mounts), "shared", str(number))
        missing = not os.path.exists(self.marker(number))
        self.expect(path, self.choices(number), missing)

    def marker(self, number):
        """Exists when the name has been written: from then on it must be there."""
        return f"{self.journals}-{number}"

    # What its owner moves

    def moved_path(self, path):
        return os.path.join(self.mount, "moved", str(self.seed), path)

    def move(self):
        if len(self.moved) < 6:
            is_model = len(self.moved) % 2
            name = f"{self.random.choice('ab')}/{len(self.moved)}"
            name += ".om" if is_model else ".bin"
            content = self.random.choice(self.models if is_model else self.all)
            calls.save(self.moved_path(name), content)
            self.moved[name] = content
            return
        name = self.random.choice(sorted(self.moved))
        directory, base = name.split("/")
        target = f"{'b' if directory == 'a' else 'a'}/{base}"
        os.makedirs(os.path.dirname(self.moved_path(target)), exist_ok=True)
        os.rename(self.moved_path(name), self.moved_path(target))
        self.moved[target] = self.moved.pop(name)
        os.chmod(self.moved_path(target), self.random.choice((0o600, 0o644)))
        self.expect(self.moved_path(target), [self.moved[target]])

    def move_directory(self):
        """Away and back, and each time all is there."""
        source = self.random.choice("ab")
        if not any(name.startswith(source) for name in self.moved):
            return
        os.rename(self.moved_path(source), self.moved_path("c"))
        for name, content in self.moved.items():
            if name.startswith(source):
                self.expect(self.moved_path("c" + name[1:]), [content])
        os.rename(self.moved_path("c"), self.moved_path(source))

    def check_moved(self):
        for mount in self.mounts:
            for name, content in self.moved.items():
                self.expect(os.path.join(mount, "moved", str(self.seed), name),
                            [content])

    # What is deleted again and again

    def passing(self):
        number = self.random.randrange(PASSING)
        return (os.path.join(self.random.choice(self.mounts), "passing", str(number)),
                self.trees[number % len(self.trees)])

    def pass_by(self):
        top, tree = self.passing()
        try:
            for path, content in tree.items():
                calls.save(os.path.join(top, path), content)
        except OSError as error:
            if error.errno not in DELETED:
                raise

    def delete(self):
        top, tree = self.passing()
        if self.random.random() < 0.5:
            shutil.rmtree(top, ignore_errors=True)
            return
        for path in tree:
            try:
                os.unlink(os.path.join(top, path))
            except OSError as error:
                if error.errno not in DELETED:
                    raise

    def check_passing(self):
        top, tree = self.passing()
        for path, content in tree.items():
            self.expect(os.path.join(top, path), [content], missing=True)


def main():
    seed, journals, *mounts = sys.argv[1:]
    Worker(int(seed), journals, mounts).run()


if __name__ == "__main__":
    main()
