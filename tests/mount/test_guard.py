# SPDX-License-Identifier: Apache-2.0
"""What a mount refuses to cover, and the dead mount that it clears."""
import errno
import os
import subprocess
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only


class Mount(harness.Mount):
    """A mount, perhaps where a dead one still is."""

    def answers(self):
        try:
            os.statvfs(self.path)
        except OSError as error:
            if error.errno != errno.ENOTCONN:
                raise
            return super().answers() and False
        return super().answers()


def close_dead(fd):
    try:
        os.close(fd)
    except OSError as error:
        if error.errno != errno.ENOTCONN:
            raise


@mount_only
class Guard(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "point")
        os.mkdir(self.point)
        self.mounts = []
        self.addCleanup(self.unmount)

    def unmount(self):
        for mount in self.mounts:
            mount.discard()
        for path, _ in supervisor.mounts_below(self.root):
            supervisor.unmount_lazily(path)

    def new_mount(self, path=None, options=()):
        mount = Mount(self.store, path or self.point, options)
        self.mounts.append(mount)
        return mount

    def make(self, *parts):
        path = os.path.join(self.root, *parts)
        os.makedirs(path, exist_ok=True)
        return path

    def make_store(self, *parts):
        path = self.make(*parts)
        point = self.make("elsewhere")
        self.assertEqual(harness.tacfs("mount", path, point).returncode, 0)
        subprocess.run(["fusermount3", "-u", point], check=True)
        return path

    def refused(self, store, point):
        """What is said of a mount that must not come to be."""
        before = supervisor.mounts_below(self.root)
        done = harness.tacfs("mount", store, point)
        self.assertEqual(supervisor.mounts_below(self.root), before,
                         "expected no other mount than before")
        self.assertEqual(done.returncode, 1, f"expected 1, seen {done}")
        said = done.stderr.decode()
        self.assertEqual(said.count("\n"), 1, f"expected one line, seen {said}")
        return said

    def kill(self, mount):
        mount.process.kill()
        mount.process.wait()

    def count(self):
        return sum(kind == "fuse.tacfs"
                   for _, kind in supervisor.mounts_below(self.root))

    def test_store_inside_the_mount_point(self):
        store = self.make_store("point", "deep", "store")
        link = os.path.join(self.root, "link")
        os.symlink(store, link)
        for path in store, link, store + "/", self.point:
            said = self.refused(path, self.point)
            self.assertIn(f"{self.point}: the store {path} is inside", said)

    def test_store_that_would_be_made_inside_the_mount_point(self):
        for store in "new", "deep/new", "deep/../new/":
            self.make("point", "deep")
            path = os.path.join(self.point, store)
            self.assertIn("is inside", self.refused(path, self.point))
            self.assertFalse(os.path.exists(path))
        done = subprocess.run([harness.binary(), "mount", "new", "."],
                              cwd=self.point, capture_output=True)
        self.assertEqual(done.returncode, 1)
        self.assertIn(b"is inside", done.stderr)

    def test_mount_point_inside_the_store(self):
        store = self.make_store("store")
        point = self.make("store", "refs", "default", "model")
        link = os.path.join(self.root, "link")
        os.symlink(point, link)
        for path in point, link, point + "/.":
            self.assertIn(f"inside the store {store}", self.refused(store, path))

    @unittest.skipUnless(os.getuid() == 0, "makes a bind mount")
    def test_bind_mounts(self):
        store = self.make_store("point", "store")
        bound = self.make("bound")
        subprocess.run(["mount", "--bind", self.point, bound], check=True)
        said = self.refused(os.path.join(bound, "store"), self.point)
        self.assertIn("is inside", said)
        self.assertIn("is inside", self.refused(store, bound))

    def test_neighbours_are_fine(self):
        """Names that only begin alike, and a parent that both are in."""
        for store, point in ("a", "ab"), ("ab", "a"), ("x/store", "x/point"):
            store, point = self.make(store), self.make(point)
            done = harness.tacfs("mount", store, point)
            self.assertEqual(done.returncode, 0, done)
            subprocess.run(["fusermount3", "-u", point], check=True)
            os.chmod(store, 0o700)
            subprocess.run(["rm", "-r", store], check=True)

    def test_second_mount_at_the_same_place(self):
        with self.new_mount() as mount:
            link = os.path.join(self.root, "link")
            os.symlink(self.point, link)
            other = os.path.join(self.root, "other store")
            for store, point in ((self.store, self.point), (other, self.point),
                                 (self.store, link)):
                self.assertEqual(
                    self.refused(store, point), f"tacfs: mount: {point}: "
                    f"{self.store} is mounted there already; unmount that first\n")
            self.assertFalse(os.path.exists(other))
            calls.write(os.path.join(mount.path, "a.json"), b"{}")

    def test_below_another_mount(self):
        """A mount point may be a directory of another tacfs mount."""
        # fusermount3 looks at the inner mount point, and is not the outer's owner
        with self.new_mount(options=("allow_other",)) as mount:
            inner = os.path.join(mount.path, "inner")
            os.mkdir(inner)
            with harness.Mount(os.path.join(self.root, "second"), inner) as second:
                calls.write(os.path.join(second.path, "a.json"), b"{}")
            self.assertEqual(os.listdir(inner), [])

    def test_dead_mount_is_cleared(self):
        mount = self.new_mount().start()
        calls.save(os.path.join(self.point, "m", "compiled_module"),
                   samples.module(1))
        self.kill(mount)
        again = self.new_mount().start()
        self.assertEqual(len(supervisor.mounts_below(self.root)), 1,
                         "expected the dead mount to be gone")
        self.assertEqual(calls.read(os.path.join(self.point, "m",
                                                 "compiled_module")),
                         samples.module(1))
        again.stop()
        self.assertEqual(supervisor.mounts_below(self.root), [])
        self.assertEqual(os.listdir(self.point), [])

    def test_dead_mount_is_cleared_through_a_symlink(self):
        self.kill(self.new_mount().start())
        link = os.path.join(self.root, "link")
        os.symlink(self.point, link)
        done = harness.tacfs("mount", self.store, link)
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertEqual(supervisor.mounts_below(self.root),
                         [(self.point, "fuse.tacfs")])

    def test_dead_mount_with_open_files_is_cleared(self):
        mount = self.new_mount().start()
        path = os.path.join(self.point, "a.json")
        calls.write(path, b"{}")
        fd = os.open(path, os.O_RDONLY)
        self.addCleanup(close_dead, fd)
        self.kill(mount)
        with self.new_mount():
            self.assertEqual(calls.read(path), b"{}")
            with self.assertRaises(OSError) as caught:
                os.open(f"/proc/self/fd/{fd}", os.O_RDONLY)
            self.assertEqual(caught.exception.errno, errno.ENOTCONN)

    @unittest.skipUnless(os.getuid() == 0, "mounts over a mount")
    def test_dead_mounts_on_each_other_are_cleared(self):
        first = self.new_mount().start()
        subprocess.run(["mount", "-t", "tmpfs", "tmpfs", self.point], check=True)
        second = self.new_mount().start()
        harness.wait_until(lambda: self.count() == 2, "a second mount")
        self.kill(second)
        self.kill(first)
        third = self.new_mount().start()
        harness.wait_until(lambda: self.count() == 2,
                           "the one on top of the tmpfs to be replaced")
        third.stop()

    def test_source_of_the_mount_is_the_store(self):
        self.store = os.path.join(self.root, "odd, \\store\twith 推")
        with self.new_mount():
            seen = subprocess.run(["findmnt", "-rno", "SOURCE", self.point],
                                  capture_output=True).stdout
            self.assertTrue(seen)
            said = self.refused(self.store, self.point)
            self.assertIn(f"{self.store} is mounted there already", said)


if __name__ == "__main__":
    harness.main()
