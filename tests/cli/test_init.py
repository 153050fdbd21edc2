#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""What tacfs(1) says of init and set."""
import os
import stat
import subprocess
import tempfile
import unittest

GROUP = 54321
STRANGER = 12345
STICKY = ("packs", "packs/00", "packs/ff", "refs", "tmp", "quarantine", "trash",
          "intents", "index", "stats")


def tacfs(*arguments, **options):
    return subprocess.run([os.environ["TACFS_BIN"], *arguments],
                          capture_output=True, text=True, **options)


def is_root():
    """Whether there are other users: not as root of a user namespace."""
    with open("/proc/self/uid_map", encoding="ascii") as ids:
        return os.geteuid() == 0 and int(ids.read().split()[2]) > GROUP


def mode(*parts):
    return stat.S_IMODE(os.stat(os.path.join(*parts)).st_mode)


def read(*parts):
    with open(os.path.join(*parts), encoding="ascii") as file:
        return file.read()


class Init(unittest.TestCase):
    def setUp(self):
        place = tempfile.TemporaryDirectory()
        self.addCleanup(place.cleanup)
        os.chmod(place.name, 0o755)
        self.store = os.path.join(place.name, "store")

    def works(self, *arguments, said="", **options):
        done = tacfs(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout, done.stderr), (0, said, ""))

    def fails(self, status, said, *arguments, **options):
        done = tacfs(*arguments, **options)
        self.assertEqual((done.returncode, done.stdout), (status, ""))
        self.assertIn(said, done.stderr)

    def test_makes_a_store_for_one_user(self):
        self.works("init", self.store)
        self.assertIn("\nfeatures: collect\n", read(self.store, "FORMAT"))
        self.assertFalse(os.path.exists(os.path.join(self.store, "settings")))
        self.assertEqual(mode(self.store), 0o700)
        self.assertEqual(mode(self.store, "packs"), 0o700)
        self.assertEqual(mode(self.store, "refs/default"), 0o700)
        self.works("set", self.store, said="max-bytes=0\n")

    def test_takes_an_empty_directory_only(self):
        os.mkdir(self.store, 0o700)
        self.works("init", self.store)
        before = read(self.store, "FORMAT")
        for arguments in ((), ("--shared",), ("--max-bytes=1G",)):
            self.fails(1, "it is a store already", "init", *arguments, self.store)
        self.assertEqual(read(self.store, "FORMAT"), before)
        self.assertEqual(mode(self.store), 0o700)

    def test_leaves_alone_what_is_not_empty(self):
        os.mkdir(self.store, 0o755)
        with open(os.path.join(self.store, "mine"), "w", encoding="ascii"):
            pass
        self.fails(1, "not empty and is not a store", "init", "--shared",
                   self.store)
        self.assertEqual(os.listdir(self.store), ["mine"])
        self.assertEqual(mode(self.store), 0o755)

    def test_a_shared_store_is_the_groups_whatever_the_umask(self):
        for mask in (0, 0o77, 0o777):
            store = f"{self.store}{mask}"
            group = f"--shared={GROUP}" if is_root() else "--shared"
            self.works("init", group, store, umask=mask)
            self.assertIn("\nfeatures: collect,shared\n", read(store, "FORMAT"))
            self.assertEqual(mode(store), 0o2750)
            self.assertEqual(mode(store, "FORMAT"), 0o640)
            self.assertEqual(mode(store, "refs/default"), 0o2770)
            for part in STICKY:
                self.assertEqual((part, mode(store, part)), (part, 0o3770))
            expected = GROUP if is_root() else os.getegid()
            for directory, names, files in os.walk(store):
                for name in names + files:
                    path = os.path.join(directory, name)
                    self.assertEqual((path, os.stat(path).st_gid),
                                     (path, expected))

    def test_the_limit_is_kept_and_changed(self):
        sizes = {"0": 0, "1": 1, "512M": 512 << 20, "10G": 10 << 30,
                 "2T": 2 << 40, "3K": 3072}
        self.works("init", "--max-bytes=10G", self.store)
        self.works("set", self.store, said=f"max-bytes={10 << 30}\n")
        for text, size in sizes.items():
            self.works("set", self.store, f"max-bytes={text}")
            self.works("set", self.store, said=f"max-bytes={size}\n")
        self.assertEqual(sorted(os.listdir(os.path.join(self.store, "tmp"))), [])

    def test_what_is_wrong_is_named(self):
        for size in ("", "G", "1X", "1GB", "-1", " 1", "99999999999999999999",
                     "99999999999T"):
            self.fails(64, f"'{size}'", "init", f"--max-bytes={size}", self.store)
        self.assertFalse(os.path.exists(self.store))
        self.fails(64, "STORE", "init")
        self.fails(64, "'--frob'", "init", "--frob", self.store)
        self.fails(64, "no group 'no-such-group'", "init",
                   "--shared=no-such-group", self.store)
        self.fails(1, "not a store", "set", "/")
        self.fails(64, "STORE", "set")
        self.fails(64, "'max-byte=1'", "set", self.store, "max-byte=1")

    def test_damaged_settings_are_no_limit_and_can_be_set(self):
        self.works("init", "--max-bytes=10G", self.store)
        path = os.path.join(self.store, "settings")
        text = read(path)
        for damaged in ("", text.replace("107", "108"), "x" * 5000):
            with open(path, "w", encoding="ascii") as file:
                file.write(damaged)
            self.works("set", self.store, said="max-bytes=0\n")
            self.works("set", self.store, "max-bytes=5")
            self.works("set", self.store, said="max-bytes=5\n")

    def test_settings_that_are_no_file_do_no_harm(self):
        self.works("init", self.store)
        path = os.path.join(self.store, "settings")
        os.mkfifo(path)
        self.works("set", self.store, said="max-bytes=0\n", timeout=60)
        os.unlink(path)
        os.symlink("/etc/passwd", path)
        self.works("set", self.store, said="max-bytes=0\n")
        self.works("set", self.store, "max-bytes=5")
        self.assertFalse(os.path.islink(path))

    def test_settings_of_a_newer_program_are_left_alone(self):
        self.works("init", self.store)
        path = os.path.join(self.store, "settings")
        with open(path, "w", encoding="ascii") as file:
            file.write("tacfs-settings: 2\n")
        self.fails(1, "version 1", "set", self.store, "max-bytes=5")
        self.assertEqual(read(path), "tacfs-settings: 2\n")

    @unittest.skipIf(not is_root(), "needs root for a second user")
    def test_only_the_owner_of_a_shared_store_changes_it(self):
        as_stranger = {"user": STRANGER, "group": GROUP, "extra_groups": []}
        self.works("init", f"--shared={GROUP}", "--max-bytes=10G", self.store)
        self.works("set", self.store, said=f"max-bytes={10 << 30}\n",
                   **as_stranger)
        self.fails(1, "Permission denied", "set", self.store, "max-bytes=5",
                   **as_stranger)
        self.works("set", self.store, said=f"max-bytes={10 << 30}\n")
        outside = {"user": STRANGER, "group": STRANGER, "extra_groups": []}
        self.fails(1, "Permission denied", "set", self.store, **outside)

    @unittest.skipIf(not is_root(), "needs root for a second user")
    def test_settings_of_a_stranger_are_ignored(self):
        self.works("init", "--max-bytes=10G", self.store)
        os.chown(os.path.join(self.store, "settings"), STRANGER, STRANGER)
        self.works("set", self.store, said="max-bytes=0\n")


unittest.main()
