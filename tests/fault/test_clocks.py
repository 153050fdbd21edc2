# SPDX-License-Identifier: Apache-2.0
"""Hosts whose clocks are an hour off the file system's share a store.

skew.c makes one process see another time. The file system keeps its own.
"""
import json
import os
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import harness  # noqa: E402
import hosts  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

HOUR = 3600
AHEAD, BEHIND = (hosts.preload(TACFS_TEST_SKEW=seconds) for seconds in (HOUR, -HOUR))


def report(**members):
    return json.dumps({"tacfs_report": 1, "mounts": 1, "active": 0,
                       **members}).encode()


@mount_only
class Clocks(harness.MountTest):
    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory(cls.__name__)
        cls.store = os.path.join(cls.root, "store")
        cls.exact, cls.ahead, cls.behind = cls.mounted = [
            harness.Mount(cls.store, os.path.join(cls.root, name), options,
                          environment=environment)
            for name, options, environment in (
                ("exact", (), None), ("ahead", (), AHEAD),
                ("behind", ("collect=1",), BEHIND))]
        for mount in cls.mounted:
            cls.addClassCleanup(mount.discard)
            mount.start()
        cls.mount, cls.other = cls.mounted[0], cls.mounted[-1]

    def everywhere(self, *parts):
        return [os.path.join(mount.path, self._testMethodName, *parts)
                for mount in self.mounted]

    def tacfs(self, environment, *arguments):
        done = harness.tacfs(*arguments, env={**os.environ, **environment})
        self.assertEqual(done.returncode, 0, done.stderr)
        return done.stdout

    def trash(self):
        return [name for name in samples.files_below(os.path.join(self.store, "trash"))
                if self._testMethodName in name]

    def test_the_clocks_differ(self):
        """Else nothing is tested here."""
        for environment, seconds in (AHEAD, HOUR), (BEHIND, -HOUR):
            seen = float(subprocess.run(
                ["date", "+%s"], check=True, capture_output=True, text=True,
                env={**os.environ, **environment,
                     "ASAN_OPTIONS": "detect_leaks=0"}).stdout)
            self.assertAlmostEqual(seen - time.time(), seconds, delta=60)

    def test_publishing_and_deleting_in_turn(self):
        paths = self.everywhere("compiled_module")
        for seed in range(9):
            content = samples.module(seed % 4, (1000, 30000)[seed % 2])
            calls.save(paths[seed % 3], content)
            for path in paths:
                self.assertContent(path, content)
            if seed % 3 == 2:
                os.unlink(paths[(seed // 3) % 3])
                for path in paths:
                    self.assertMissing(path)

    def test_times_are_the_same_everywhere(self):
        paths = self.everywhere("a.json")
        for writer in paths:
            calls.write(writer, os.urandom(50))
            self.wait_for(paths, os.stat(writer).st_mtime)
            os.utime(writer, (5, 5))
            self.wait_for(paths, 5)

    def wait_for(self, paths, mtime):
        harness.wait_until(lambda: all(os.stat(path).st_mtime == mtime
                                       for path in paths), f"the mtime {mtime}")

    def test_undelete_brings_back_what_was_deleted_last(self):
        exact, ahead, behind = self.everywhere("compiled_module")
        calls.save(ahead, samples.module(1))
        os.unlink(ahead)
        calls.save(exact, samples.module(2))
        os.unlink(exact)
        calls.save(behind, samples.module(3))
        os.unlink(behind)
        place = os.path.relpath(exact, self.exact.path)
        for environment, seed in (AHEAD, 3), (BEHIND, 2), ({}, 1):
            self.tacfs(environment, "undelete", self.store, place)
            for path in (exact, ahead, behind):
                self.assertContent(path, samples.module(seed))
            os.rename(exact, self.path(f"was-{seed}"))

    def test_a_young_plain_file_is_not_worth_keeping(self):
        for path in self.everywhere("a.json"):
            calls.write(path, b"x" * 50)
            os.unlink(path)
        self.assertEqual(self.trash(), [])

    def test_what_is_young_is_neither_collected_nor_expired(self):
        path = self.path("compiled_module")
        content = samples.module(31, 60000)
        calls.save(path, content)
        os.unlink(path)
        packs = samples.files_below(os.path.join(self.store, "packs"))
        for environment in AHEAD, BEHIND:
            self.tacfs(environment, "gc", "--grace=3000", "--keep=3000", self.store)
            self.assertEqual(len(self.trash()), 1, "expected it in the trash")
            self.assertEqual(samples.files_below(os.path.join(self.store, "packs")),
                             packs)
        self.tacfs(AHEAD, "undelete", self.store,
                   os.path.relpath(path, self.exact.path))
        self.assertContent(path, content)

    def test_what_is_not_needed_is_collected(self):
        for environment in AHEAD, BEHIND:
            path = self.path("compiled_module")
            calls.save(path, samples.module(32, 60000))
            os.unlink(path)
            self.tacfs(environment, "gc", "--grace=0", "--keep=0", self.store)
            self.assertEqual(self.trash(), [])

    def test_collection_of_an_idle_store(self):
        harness.wait_until(
            lambda: os.path.exists(os.path.join(self.store, "stats", "collected")),
            "a collection")

    def test_drafts_of_others_are_left_alone(self):
        draft = os.path.join(self.store, "tmp", "draft-0123456789abcdef")
        calls.write(draft, b"")
        os.utime(draft, (time.time() - 23.5 * HOUR,) * 2)
        for environment in AHEAD, BEHIND:
            self.tacfs(environment, "fsck", "--repair", self.store)
            self.assertTrue(os.path.exists(draft))
        os.unlink(draft)

    def test_reports_that_somebody_folds_are_left_alone(self):
        """His sum has them already, or will."""
        stats = os.path.join(self.store, "stats")
        for number in range(70):
            calls.write(os.path.join(stats, f"{number:032x}.json"), report(hits=1))
        taken = os.path.join(stats, f"{'e' * 32}.{'f' * 32}")
        calls.write(taken, report(hits=1))
        before = self.summed()
        with harness.Mount(self.store, os.path.join(self.root, "folds"),
                           environment=AHEAD):
            harness.wait_until(
                lambda: not os.path.exists(os.path.join(stats, f"{5:032x}.json")),
                "the others to be folded")
            self.assertEqual(self.summed()["hits"], before["hits"])
        self.assertTrue(os.path.exists(taken), "expected it left to who has it")
        os.unlink(taken)

    def summed(self):
        return json.loads(self.tacfs({}, "stats", "--json", self.store))["live"]


if __name__ == "__main__":
    harness.main()
