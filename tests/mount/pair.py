# SPDX-License-Identifier: Apache-2.0
"""The same commands in a directory on a mount and in one beside the store."""
import hashlib
import os
import shutil
import stat
import subprocess

import harness

LIMIT = harness.amount(120, 1800)  # seconds for one script


def describe(path, times):
    """What must be the same of a file: all but what the file system chooses."""
    status = os.lstat(path)
    seen = {"mode": stat.filemode(status.st_mode)}
    if not stat.S_ISLNK(status.st_mode):
        seen["xattrs"] = {name: os.getxattr(path, name)
                          for name in os.listxattr(path) if name.startswith("user.")}
    if stat.S_ISREG(status.st_mode):
        seen["size"] = status.st_size
        with open(path, "rb") as file:
            seen["digest"] = hashlib.sha256(file.read()).hexdigest()
    elif stat.S_ISLNK(status.st_mode):
        seen["target"] = os.readlink(path)
    if times:
        seen["mtime"] = status.st_mtime_ns
    return seen


def tree(root, times=False):
    """{relative path: what it is}, with mtimes if somebody has set them."""
    found = {}
    for directory, directories, names in os.walk(root):
        for name in directories + names:
            path = os.path.join(directory, name)
            found[os.path.relpath(path, root)] = describe(path, times)
    return found


class PairTest(harness.MountTest):
    """self.plain is what self.dir is, on the file system of the store.

    After the last test the store is checked.
    """

    @classmethod
    def tearDownClass(cls):
        super().tearDownClass()
        if harness.PLAIN:
            return
        checked = harness.tacfs("fsck", "--read-data", cls.store, timeout=600)
        if checked.returncode != 0:
            raise AssertionError(f"expected a sound store, seen: {checked.stdout!r} "
                                 f"{checked.stderr!r}")

    def setUp(self):
        super().setUp()
        self.plain = harness.new_directory(self._testMethodName)
        self.home = harness.new_directory("home")
        self.addCleanup(shutil.rmtree, self.plain, ignore_errors=True)

    def need(self, *programs):
        for program in programs:
            if not shutil.which(program):
                self.skipTest(f"{program} is not installed")

    def environment_of(self, variables):
        return {"PATH": os.environ["PATH"], "HOME": self.home, "LC_ALL": "C.UTF-8",
                "TZ": "UTC", "TMPDIR": self.home, **variables}

    def run_in(self, place, script, **variables):
        """Its exit status and output; the place is called HERE in it."""
        log = os.path.join(self.home, "log")
        with open(log, "wb") as out:
            status = subprocess.run(["sh", "-euc", script], cwd=place, stdout=out,
                                    stderr=out, stdin=subprocess.DEVNULL,
                                    timeout=LIMIT,
                                    env=self.environment_of(variables)).returncode
        with open(log, encoding="utf-8", errors="replace") as file:
            return status, file.read().replace(place, "HERE")

    def compare(self, script, **variables):
        """Runs it in both places; returns what it printed, which is the same."""
        expected = self.run_in(self.plain, script, **variables)
        self.assertEqual(expected[0], 0, f"beside the store: {expected[1]}")
        seen = self.run_in(self.dir, script, **variables)
        self.assertEqual(seen, expected, f"expected as beside the store:\n"
                                         f"{expected[1]}\nseen:\n{seen[1]}")
        return seen[1]

    def succeed(self, script, **variables):
        """Runs it in both places, where it prints something else each time."""
        for place in (self.plain, self.dir):
            status, output = self.run_in(place, script, **variables)
            self.assertEqual(status, 0, f"{harness.short(place)}: {output}")

    def assertSameTrees(self, name=".", times=False):
        self.maxDiff = None
        expected, seen = (tree(os.path.join(place, name), times)
                          for place in (self.plain, self.dir))
        self.assertEqual(seen, expected, f"{name}: seen on the mount, and expected")


