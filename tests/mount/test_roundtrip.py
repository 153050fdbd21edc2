# SPDX-License-Identifier: Apache-2.0
"""Real caches go in with cp -a and come out the same, readable and small."""
import errno
import filecmp
import json
import os
import shutil
import subprocess
import unittest

import harness
import samples

# Large sets, left out where a sanitizer makes compression slow.
LARGE = ("decoder32", "ranks_vocab4", "ranks_vocab4_pypb")


def chosen():
    """The scenarios that this run copies."""
    everything = samples.scenarios()
    if harness.LONG or harness.PLAIN or not harness.sanitized():
        return everything
    return [name for name in everything if name not in LARGE]


def attributes(root):
    """{relative path: (mode, mtime in ns)} of everything but readable.py."""
    found = {}
    for directory, _, names in os.walk(root):
        for path in [directory] + [os.path.join(directory, n) for n in names]:
            if os.path.basename(path) == "readable.py":
                continue
            status = os.lstat(path)
            found[os.path.relpath(path, root)] = (oct(status.st_mode),
                                                  status.st_mtime_ns)
    return found


def packs(store):
    return set(samples.files_below(os.path.join(store, "packs")))


def bytes_of(*paths):
    return sum(os.lstat(path).st_size for path in paths)


def stored_bytes(store):
    return bytes_of(*(os.path.join(store, path)
                      for path in samples.files_below(store)))


def copy(source, target):
    subprocess.run(["cp", "-a", source, target], check=True)


class Roundtrip(unittest.TestCase):
    """One store, filled once; the tests look at it from new mounts."""

    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory("roundtrip")
        cls.store = os.path.join(cls.root, "store")
        cls.staged = os.path.join(cls.root, "staged")
        os.mkdir(cls.staged)
        for scenario in chosen():
            samples.stage(samples.tree(scenario),
                          os.path.join(cls.staged, scenario))
        with cls.mount("first") as mount:
            for scenario in chosen():
                copy(os.path.join(cls.staged, scenario), mount.path)
            cls.fresh = cls.compare(mount.path)

    @classmethod
    def mount(cls, name):
        return harness.Mount(cls.store, os.path.join(cls.root, name))

    @classmethod
    def compare(cls, where):
        """What `diff -r` says but for readable.py, and attributes that differ."""
        differing = []
        for scenario in chosen():
            source = os.path.join(cls.staged, scenario)
            target = os.path.join(where, scenario)
            done = subprocess.run(["diff", "-r", "-x", "readable.py", source,
                                   target], capture_output=True)
            differing += done.stdout.decode().splitlines()
            differing += done.stderr.decode().splitlines()
            expected, seen = attributes(source), attributes(target)
            for path in sorted(set(expected) | set(seen)):
                if expected.get(path) != seen.get(path):
                    differing.append(f"{scenario}/{path}: expected (mode, mtime) "
                                     f"{expected.get(path)}, seen {seen.get(path)}")
        return differing

    def assertSame(self, differing, when):
        self.assertEqual(differing, [], f"{when}: expected no difference, seen:\n"
                         + "\n".join(differing[:20]))

    def test_tree_is_the_same_at_once(self):
        self.assertSame(self.fresh, "in the mount that wrote it")

    def test_tree_is_the_same_after_remount(self):
        with self.mount("again") as mount:
            self.assertSame(self.compare(mount.path), "after a remount")

    def test_there_is_nothing_else_in_the_root(self):
        with self.mount("root") as mount:
            self.assertEqual(sorted(os.listdir(mount.path)), sorted(chosen()),
                             "expected the copied trees and no other name in "
                             f"the root, seen {sorted(os.listdir(mount.path))}")

    def test_files_have_no_extended_attributes(self):
        with self.mount("xattr") as mount:
            for path in samples.files_below(mount.path):
                try:
                    seen = os.listxattr(os.path.join(mount.path, path))
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOTSUP, f"{path}: expected "
                                     f"no attribute or ENOTSUP, seen {error}")
                    continue
                self.assertEqual(seen, [], f"{path}: expected no attribute, "
                                 f"seen {seen}")

    @harness.mount_only
    def test_every_readable_is_exact(self):
        with self.mount("readable") as mount:
            count = sum(self.check_readables(mount.path, scenario)
                        for scenario in chosen())
        self.assertGreater(count, 10, f"expected many readable files, seen {count}")

    def check_readables(self, where, scenario):
        expected = samples.expected_readables(scenario)
        for module, text in expected.items():
            self.check_readable(os.path.join(where, scenario, module), text)
        return len(expected)

    def check_readable(self, module, text):
        if os.path.basename(module) != "compiled_module":
            self.check_show(module, text)  # saved under a name of its own
            return
        path = os.path.join(os.path.dirname(module), "readable.py")
        size = os.stat(path).st_size  # before anything opened it
        with open(path, "rb") as file:
            seen = file.read()
        self.assertEqual(size, len(seen), f"{path}: expected stat to give the size "
                         f"{len(seen)}, seen {size}")
        if seen != text:
            self.fail(f"{path}: {first_difference(text, seen)}")

    def check_show(self, path, text):
        done = harness.tacfs("show", path)
        self.assertEqual(done.returncode, 0, f"tacfs show {path}: expected 0, seen "
                         f"{done.returncode}: {done.stderr}")
        if done.stdout != text:
            self.fail(f"tacfs show {path}: {first_difference(text, done.stdout)}")

    @harness.mount_only
    def test_readable_stands_beside_every_compiled_module_only(self):
        with self.mount("beside") as mount:
            for directory, _, names in os.walk(mount.path):
                self.assertEqual("readable.py" in names,
                                 "compiled_module" in names,
                                 f"{directory}: expected readable.py exactly "
                                 f"beside compiled_module, seen {names}")

    @harness.mount_only
    def test_show_prints_the_same_text(self):
        for scenario in ("official", "misc"):
            for module, text in samples.expected_readables(scenario).items():
                self.check_show(os.path.join(self.staged, scenario, module), text)

    @harness.mount_only
    def test_second_mount_stores_nothing_new(self):
        before = packs(self.store)
        with self.mount("one"), self.mount("two") as second:
            target = os.path.join(second.path, "copies")
            os.mkdir(target)
            for scenario in chosen():
                copy(os.path.join(self.staged, scenario), target)
            new = packs(self.store) - before
            differing = self.compare(target)
            shutil.rmtree(target)
        self.assertEqual(new, set(), f"expected no new pack for trees that are "
                         f"stored already, seen {len(new)}")
        self.assertSame(differing, "the second mount's copies")

    @harness.mount_only
    def test_store_is_small(self):
        written = bytes_of(*(os.path.join(self.staged, path)
                             for path in samples.files_below(self.staged)))
        stored = stored_bytes(self.store)
        print(f"\n  written {written}, stored {stored}: "
              f"{written / stored:.2f} times smaller")
        if not samples.is_full_set() or len(chosen()) < len(samples.scenarios()):
            self.skipTest("the bar is for the full set")
        self.assertLessEqual(stored * 5, written, f"expected at most a fifth of "
                             f"{written} bytes under the store, seen {stored}")

    @harness.mount_only
    def test_stats_are_json(self):
        done = harness.tacfs("stats", self.store, "--json")
        self.assertEqual(done.returncode, 0, f"expected 0, seen {done.returncode}: "
                         f"{done.stderr}")
        seen = json.loads(done.stdout)
        self.assertIsInstance(seen, dict, f"expected an object, seen {seen!r}")

    def test_copy_out_is_the_same(self):
        """cp -a out of the mount: what a person takes home is the same."""
        home = os.path.join(self.root, "home")
        with self.mount("out") as mount:
            copy(os.path.join(mount.path, "official"), home)
        source = os.path.join(self.staged, "official")
        expected, seen = attributes(source), attributes(home)
        self.assertEqual(seen, expected, f"expected the attributes {expected}, "
                         f"seen {seen}")
        for path in samples.files_below(source):
            same = filecmp.cmp(os.path.join(source, path),
                               os.path.join(home, path), shallow=False)
            self.assertTrue(same, f"{path}: expected the same bytes, seen others")


def first_difference(expected, seen):
    """One line about where two texts part."""
    wanted, got = expected.split(b"\n"), seen.split(b"\n")
    for number, (a, b) in enumerate(zip(wanted, got), 1):
        if a != b:
            return f"line {number}: expected {a[:120]!r}, seen {b[:120]!r}"
    return f"expected {len(wanted)} lines, seen {len(got)}"


if __name__ == "__main__":
    harness.main()
