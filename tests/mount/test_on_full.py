# SPDX-License-Identifier: Apache-2.0
"""A full store: an error at close, or, with -o on_full=drop, a service that starts."""
import errno
import json
import os
import subprocess
import unittest

import calls
import harness
import samples
from harness import mount_only

SIZE = 8 << 20  # of the file system that the store is on


@mount_only
@unittest.skipUnless(os.getuid() == 0, "mounts a tmpfs")
class Full(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.disk = os.path.join(self.root, "disk")
        os.makedirs(self.disk)
        subprocess.run(["mount", "-t", "tmpfs", "-o", f"size={SIZE}", "tmpfs", self.disk],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", self.disk], check=True)
        self.store = os.path.join(self.disk, "store")
        self.agent = harness.Agent()
        self.addCleanup(self.agent.close)

    def mounted(self, name, *options):
        mount = harness.Mount(self.store, os.path.join(self.root, name), options)
        self.addCleanup(mount.discard)
        return mount.start()

    def fill_disk(self):
        """All of it, down to the last block."""
        path = os.path.join(self.disk, "ballast")
        with open(path, "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError as error:
                    self.assertEqual(error.errno, errno.ENOSPC)

    def leaf(self, mount):
        leaf = os.path.join(mount.path, "m", "p")
        os.makedirs(leaf, exist_ok=True)
        return os.path.join(leaf, "compiled_module")

    def dropped(self, mount):
        text = calls.read(os.path.join(mount.path, ".tacfs", "stats.json"))
        return json.loads(text)["mount"]["dropped"]

    def test_a_writer_is_told_and_the_old_version_stays(self):
        mount = self.mounted("mount")
        path = self.leaf(mount)
        calls.write(path, samples.module(1))
        self.fill_disk()
        with self.assertRaises(OSError) as raised:
            self.agent.call("calls.write", path, samples.module(2, 500000))
        self.assertEqual(raised.exception.errno, errno.ENOSPC)
        self.assertEqual(calls.read(path), samples.module(1))
        os.unlink(os.path.join(self.disk, "ballast"))
        calls.write(path, samples.module(2, 500000))
        self.assertEqual(calls.read(path), samples.module(2, 500000))

    def test_with_drop_the_writer_has_what_it_wrote(self):
        mount = self.mounted("mount", "on_full=drop")
        path = self.leaf(mount)
        calls.write(path, samples.module(1))
        self.fill_disk()
        self.agent.call("calls.save", path, samples.module(2, 500000))
        self.assertEqual(self.agent.call("calls.read", path), samples.module(2, 500000))
        self.assertEqual(calls.read(path), samples.module(1), "others see the old one")
        self.assertEqual(self.dropped(mount), 1)
        self.assertIn("kept in this mount", mount.log_text())
        os.unlink(os.path.join(self.disk, "ballast"))
        self.agent.call("calls.save", path, samples.module(3, 500000))
        self.assertEqual(calls.read(path), samples.module(3, 500000))

    def test_with_drop_files_that_are_no_artifacts_work_too(self):
        mount = self.mounted("mount", "on_full=drop")
        self.leaf(mount)
        self.fill_disk()
        lock = os.path.join(mount.path, "m", "p", "graph_1.lock")
        note = os.path.join(mount.path, "m", "p", "note")
        self.agent.call("calls.write", lock, b"")
        self.agent.call("calls.write", note, samples.noise("note", 300000))
        self.assertEqual(self.agent.call("calls.read", note),
                         samples.noise("note", 300000))
        self.assertEqual(self.agent.call("calls.read", lock), b"")

    def test_holes_of_what_is_not_judged_take_no_space(self):
        mount = self.mounted("mount")
        path = os.path.join(mount.path, "sparse")
        with open(path, "wb") as file:
            file.truncate(10 * SIZE)
        self.assertEqual(os.stat(path).st_size, 10 * SIZE)


if __name__ == "__main__":
    harness.main()
