#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""tacfs doctor: what it says of the file systems that are here."""
import json
import os
import shutil
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))

import calls  # noqa: E402
import harness  # noqa: E402
from harness import mount_only, tacfs  # noqa: E402

NAMES = ["write", "exclusive", "replace", "link", "exchange", "noreplace", "tmpfile",
         "fsync", "fsync-dir", "flock", "case", "long-names", "byte-names",
         "granularity", "clock", "type", "space", "inodes", "ids", "modes", "owners",
         "quarantine", "drafts"]
# What every Linux file system for disks, and tmpfs, can do.
ALWAYS = NAMES[:13]


def make_store(path):
    with harness.Mount(path, path + "-mount") as mount:
        calls.write(os.path.join(mount.path, "file"), b"x" * 5000)
    return path


@mount_only
class Doctor(harness.MountTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        calls.write(os.path.join(cls.mount.path, "file"), b"x" * 5000)

    def examine(self, store, *statuses):
        done = tacfs("doctor", "--json", store)
        self.assertIn(done.returncode, statuses, done.stdout + done.stderr)
        report = json.loads(done.stdout)
        self.assertEqual(report["status"], ("fine", "weak", "unusable")[done.returncode])
        self.assertEqual(os.listdir(os.path.join(store, "tmp")), [])
        checks = {check["name"]: check for check in report["checks"]}
        return report, checks

    def grade(self, name, store=None):
        _, checks = self.examine(store or self.store, 0, 1)
        return checks[name]["grade"], checks[name]["what"]

    def test_every_ability_has_a_grade_and_a_sentence(self):
        report, checks = self.examine(self.store, 0, 1)
        self.assertEqual([check["name"] for check in report["checks"]], NAMES)
        for name in ALWAYS:
            self.assertEqual(checks[name]["grade"], "ok", checks[name])
        for check in report["checks"]:
            self.assertIn(check["grade"], ("ok", "weak", "missing"))
            self.assertGreater(len(check["what"]), 10)
        self.assertRegex(report["uuid"], r"^[0-9a-f-]{36}$")
        self.assertEqual(report["version"], "1")
        text = tacfs("doctor", self.store).stdout.decode()
        self.assertEqual([line.split()[1] for line in text.splitlines()[:-1]],
                         ["version", "uuid", "features"] + NAMES)

    def test_it_goes_beside_a_mount_that_writes(self):
        for number in range(5):
            calls.write(self.path(f"file{number}"), b"y" * 5000)
            self.examine(self.store, 0, 1)

    def test_modes_that_let_others_in(self):
        store = make_store(os.path.join(self.root, "open"))
        os.chmod(os.path.join(store, "refs"), 0o777)
        grade, what = self.grade("modes", store)
        self.assertEqual(grade, "weak")
        self.assertIn("refs has mode 0777", what)
        os.chmod(os.path.join(store, "refs"), 0o1777 | 0o2000)
        self.assertEqual(self.grade("modes", store)[0], "ok")

    @unittest.skipUnless(harness.is_root(), "needs root for a second user")
    def test_files_of_others_are_counted_and_named(self):
        store = make_store(os.path.join(self.root, "others"))
        for number in range(5):
            path = os.path.join(store, "refs/default", f"other{number}")
            shutil.copy(os.path.join(store, "refs/default/file"), path)
            os.chown(path, 4711, -1)
        grade, what = self.grade("owners", store)
        self.assertEqual(grade, "weak")
        self.assertIn("5 files", what)
        self.assertEqual(what.count("refs/default/other"), 3)

    def test_what_was_left_behind(self):
        store = make_store(os.path.join(self.root, "left"))
        calls.write(os.path.join(store, "quarantine/x.pack"), b"")
        calls.write(os.path.join(store, "quarantine/x.pack.reason"), b"")
        self.assertRegex(self.grade("quarantine", store)[1], r"^1 files")
        draft = os.path.join(store, "tmp/draft-0123456789abcdef")
        calls.write(draft, b"")
        os.utime(draft, (1, 1))
        done = tacfs("doctor", store)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"weak     drafts       1 drafts", done.stdout)

    def test_nothing_is_left_after_a_signal(self):
        for delay in (0.05, 0.2, 0.4):
            with subprocess.Popen([harness.binary(), "doctor", self.store],
                                  stdout=subprocess.DEVNULL,
                                  stderr=subprocess.DEVNULL) as doctor:
                time.sleep(delay)
                doctor.send_signal(signal.SIGTERM)
                doctor.wait(harness.PATIENCE)
            self.assertEqual(os.listdir(os.path.join(self.store, "tmp")), [])

    def test_what_cannot_be_looked_at(self):
        done = tacfs("doctor", self.root)
        self.assertEqual((done.returncode, done.stdout), (3, b""))
        self.assertEqual(tacfs("doctor").returncode, 64)

    def test_a_store_that_cannot_be_written(self):
        store = make_store(os.path.join(self.root, "readonly"))
        if not mounted("--bind", store, store):
            self.skipTest("cannot mount")
        self.addCleanup(unmount, store)
        subprocess.run(["mount", "-o", "remount,bind,ro", store], check=True)
        done = tacfs("doctor", store)
        self.assertEqual(done.returncode, 2, done.stdout + done.stderr)
        self.assertIn(b"missing  write", done.stdout)

    def on_file_system(self, name, *arguments):
        place = os.path.join(self.root, name)
        os.mkdir(place)
        if not mounted(*arguments, place):
            self.skipTest(f"cannot mount {name}")
        self.addCleanup(unmount, place)
        store = make_store(os.path.join(place, "store"))
        report, checks = self.examine(store, 0, 1)
        for ability in ALWAYS:
            self.assertEqual(checks[ability]["grade"], "ok", checks[ability])
        self.assertTrue(checks["type"]["what"].startswith(name), checks["type"])
        return report, checks

    def test_tmpfs(self):
        report, checks = self.on_file_system("tmpfs", "-t", "tmpfs", "-o",
                                             "size=64m", "none")
        self.assertEqual(report["status"], "weak")
        self.assertEqual(checks["type"]["grade"], "weak")
        self.assertEqual(checks["space"]["grade"], "weak")

    def test_ext4(self):
        image = os.path.join(self.root, "ext4.image")
        with open(image, "wb") as file:
            file.truncate(2 << 30)
        if not shutil.which("mkfs.ext4"):
            self.skipTest("there is no mkfs.ext4")
        subprocess.run(["mkfs.ext4", "-q", image], check=True)
        report, _ = self.on_file_system("ext4", "-o", "loop", image)
        self.assertEqual(report["status"], "fine", report)


def mounted(*arguments):
    return os.geteuid() == 0 and subprocess.run(
        ["mount", *arguments], capture_output=True).returncode == 0


def unmount(path):
    for _ in range(50):
        if subprocess.run(["umount", path], capture_output=True).returncode == 0:
            return
        time.sleep(0.1)
    subprocess.run(["umount", "-l", path], capture_output=True)


if __name__ == "__main__":
    harness.main()
