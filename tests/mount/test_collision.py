# SPDX-License-Identifier: Apache-2.0
"""Two contents with one XXH3-128: both are stored, and both read back right.

The pairs come from tests/tools/make_collision: TACFS_COLLISION names it, or it
lies in the build directory of the binary.
"""
import glob
import itertools
import os
import subprocess
import unittest

import calls
import harness
import samples
from harness import mount_only

SIZES = (4096, 8192)


def maker():
    """The path of make_collision; None when it was not built."""
    named = os.environ.get("TACFS_COLLISION")
    if named:
        return named
    build = os.path.dirname(os.path.abspath(harness.binary() or ""))
    found = glob.glob(os.path.join(build, "**", "make_collision"), recursive=True)
    return next((path for path in found if os.access(path, os.X_OK)), None)


@mount_only
class Collisions(harness.MountTest):
    mounts = 2

    @classmethod
    def setUpClass(cls):
        if not maker():
            raise unittest.SkipTest("make_collision is not built")
        super().setUpClass()
        cls.pairs = [cls.make_pair(size) for size in SIZES]

    @classmethod
    def make_pair(cls, size):
        directory = harness.new_directory(f"pair{size}")
        names = [os.path.join(directory, name) for name in "ab"]
        subprocess.run([maker(), *names, str(size)], check=True)
        return tuple(calls.read(name) for name in names)

    def test_the_pairs_are_pairs(self):
        for size, (a, b) in zip(SIZES, self.pairs):
            self.assertEqual((len(a), len(b)), (size, size), f"expected two contents "
                             f"of {size} bytes, seen {len(a)} and {len(b)}")
            self.assertTrue(a != b, "expected two contents, seen one")

    def orders(self):
        """(label, first, second) for each pair in both orders."""
        for (a, b), order in itertools.product(self.pairs, (1, -1)):
            first, second = (a, b)[::order]
            yield f"{len(a)}-{'ab'[::order]}", first, second

    def contents(self, first, second):
        """Ways in which two colliding contents occur in files of one name each."""
        # Long enough that chunk boundaries cannot depend on what lies between.
        pad = samples.noise("pad", 1 << 17)
        yield "alone", "file", first, second
        yield "twice", "file", first + first, second + second
        yield "mixed", "file", first + second, second + first
        yield "tail", "file", pad + first, pad + second
        yield "head", "file", first + pad, second + pad
        yield "inside", "file", pad + first + pad, pad + second + pad
        yield "model", "graph_1.om", samples.om(0, payload=first), samples.om(
            0, payload=second)
        aligned = bytes(4096 - 256 - 56)
        yield "aligned", "graph_1.om", samples.om(
            0, payload=aligned + first), samples.om(0, payload=aligned + second)

    def cases(self):
        for label, first, second in self.orders():
            for way, name, one, two in self.contents(first, second):
                yield f"{label}-{way}", name, one, two

    def check(self, places, hint):
        for path, content in places.items():
            self.assertContent(path, content, hint=hint)

    def write_all(self, first_root, second_root):
        """{path below the test's directory: content}"""
        places = {}
        for label, name, one, two in self.cases():
            for root, side, content in ((first_root, "1", one),
                                        (second_root, "2", two)):
                directory = os.path.join(root, label, side)
                os.makedirs(directory, exist_ok=True)
                calls.write(os.path.join(directory, name), content)
                places[os.path.join(label, side, name)] = content
        return places

    def check_everywhere(self, places):
        for when in ("at once", "after a remount"):
            for root in (self.dir, self.other_dir):
                for path, content in places.items():
                    self.assertContent(os.path.join(root, path), content,
                                       hint=f" {when}")
            if when == "at once":
                for mount in self.mounted:
                    mount.restart()

    def test_both_are_stored_in_either_order(self):
        self.check_everywhere(self.write_all(self.dir, self.dir))

    def test_published_by_two_mounts(self):
        self.check_everywhere(self.write_all(self.dir, self.other_dir))

    def test_published_after_a_remount(self):
        """The first content is known only from the store's index."""
        places = {}
        for label, first, second in self.orders():
            for side, content in (("1", first), ("2", second)):
                calls.write(self.path(f"{label}-{side}"), content)
                places[f"{label}-{side}"] = content
                self.mount.restart()
        self.check_everywhere(places)

    def test_one_replaces_the_other(self):
        for label, first, second in self.orders():
            for content in (first, second, first, second):
                calls.write(self.path("file"), content)
                self.assertContent(self.path("file"), content, hint=f" ({label})")
                self.assertContent(os.path.join(self.other_dir, "file"), content,
                                   hint=f" in the other mount ({label})")

    def test_published_at_the_same_time(self):
        a, b = self.pairs[0]
        agents = self.agents(4)
        for round_ in range(harness.amount(10, 100)):
            for number, agent in enumerate(agents):
                agent.begin("calls.write", self.path(f"{round_}-{number}"),
                            (a, b)[number % 2])
            for agent in agents:
                agent.end()
            for number in range(4):
                self.assertContent(self.path(f"{round_}-{number}"),
                                   (a, b)[number % 2])


if __name__ == "__main__":
    harness.main()
