# SPDX-License-Identifier: Apache-2.0
"""Random operations give what POSIX says, and what a plain directory gives.

random_file.c has a model of some files, random_tree.py makes the same calls in a
plain directory, random_versions.py has a model of who sees which version of an
artifact; here they are run, with remounts between, and several at once.

    TACFS_SEED=N            that seed instead of the fixed ones
    TACFS_RANDOM_SECONDS=N  all of them in turn for so long, with new seeds, from
                            TACFS_SEED on if that is given

A failure says the seed and the last operations; the seed repeats it, but for what
several processes do at once.
"""
import itertools
import os
import random
import sys
import tempfile
import time
import unittest

import harness
import random_versions
from harness import mount_only

SEED = int(os.environ.get("TACFS_SEED", 0))
SECONDS = int(os.environ.get("TACFS_RANDOM_SECONDS", 0))
FILE_OPERATIONS = harness.amount(150, 3000)
TREE_CALLS = harness.amount(150, 3000)
VERSION_STEPS = harness.amount(100, 1000)
AT_ONCE = 2     # processes of either kind
REGION = 50000  # WORLD_REGION in file_world.h


def seeds(count):
    """Few where sanitizers make everything slow."""
    count = count if harness.sanitized() else 3 * count
    return [SEED] if SEED else range(1, harness.amount(count, 10 * count) + 1)


def file_program():
    build = os.path.dirname(os.path.abspath(harness.binary()))
    return os.path.join(build, "tests", "mount", "random_file")


class Random(harness.MountTest):
    mounts = 2

    def setUp(self):
        super().setUp()
        plain = tempfile.TemporaryDirectory()
        self.addCleanup(plain.cleanup)
        self.plain = plain.name

    def pair(self, name):
        """A new directory on the mount, and one that is its model."""
        paths = self.path(name), os.path.join(self.plain, name)
        for path in paths:
            os.mkdir(path)
        return paths

    def file_command(self, pair, seed, *shared):
        program = file_program()
        if not os.access(program, os.X_OK):
            self.skipTest(f"{program} is not built")
        return [program, *pair, str(seed), str(FILE_OPERATIONS), *shared]

    def tree_command(self, pair, seed, *mode):
        return [sys.executable, os.path.join(harness.HERE, "random_tree.py"), *pair,
                str(seed), str(TREE_CALLS), *mode]

    def run_twice(self, seed, *commands):
        """With other seeds after a remount; each begins and ends by comparing all."""
        for phase in (0, 1):
            made = [command(seed * 1000 + phase * 100 + number)
                    for number, command in enumerate(commands)]
            for status, output in harness.run_parallel(made):
                self.assertEqual(status, 0, f"TACFS_SEED={seed}, phase {phase}:\n"
                                            f"{output}")
            self.mount.restart()

    def files(self, seed):
        pair = self.pair(f"files{seed}")
        self.run_twice(seed, lambda seed: self.file_command(pair, seed))

    def trees(self, seed):
        pair = self.pair(f"trees{seed}")
        self.run_twice(seed, lambda seed: self.tree_command(pair, seed))

    def artifacts(self, seed):
        pair = self.pair(f"artifacts{seed}")
        self.run_twice(seed, lambda seed: self.tree_command(pair, seed, "artifacts"))

    def versions(self, seed):
        name = f"versions{seed}"
        os.mkdir(self.path(name))
        with random_versions.Run(seed, self.path(name),
                                 os.path.join(self.other_dir, name)) as run:
            run.steps(VERSION_STEPS)

    def together(self, seed):
        def file_maker(number):
            pair = self.pair(f"own{seed}-{number}")

            def make(seed):
                if number == 0:
                    self.new_shared_file(shared)
                return self.file_command(pair, seed, shared, str(number))
            return make

        def tree_maker(number):
            pair = self.pair(f"tree{seed}-{number}")
            return lambda seed: self.tree_command(pair, seed)

        shared = self.path(f"shared{seed}")
        self.run_twice(seed, *map(file_maker, range(AT_ONCE)),
                       *map(tree_maker, range(AT_ONCE)))

    @staticmethod
    def new_shared_file(path):
        with open(path, "wb") as file:
            file.write(bytes(REGION * AT_ONCE))


@unittest.skipIf(SECONDS, "TACFS_RANDOM_SECONDS is set")
class Fixed(Random):
    def test_files(self):
        for seed in seeds(2):
            self.files(seed)

    def test_trees(self):
        for seed in seeds(2):
            self.trees(seed)

    @mount_only
    def test_trees_with_artifacts(self):
        for seed in seeds(1):
            self.artifacts(seed)

    @mount_only
    def test_versions_of_an_artifact(self):
        for seed in seeds(2):
            self.versions(seed)

    def test_several_processes(self):
        for seed in seeds(1):
            self.together(seed)


@unittest.skipUnless(SECONDS, "TACFS_RANDOM_SECONDS is not set")
class ForSomeTime(Random):
    def test_everything_in_turn(self):
        end = time.monotonic() + SECONDS
        kinds = [self.files, self.trees, self.together]
        if not harness.PLAIN:
            kinds += [self.artifacts, self.versions]
        first = SEED or random.SystemRandom().randrange(1, 10**9)
        for seed in itertools.count(first):
            for kind in kinds:
                print(f"{kind.__name__}: TACFS_SEED={seed}", file=sys.stderr, flush=True)
                kind(seed)
                if time.monotonic() > end:
                    return


if __name__ == "__main__":
    if os.access("/dev/shm", os.W_OK):  # stores there need not wait for a disk
        os.environ.setdefault("TACFS_TEST_DIR", "/dev/shm")
    os.environ.setdefault("TACFS_TEST_TIMEOUT", str(600 + 2 * SECONDS))
    harness.main()
