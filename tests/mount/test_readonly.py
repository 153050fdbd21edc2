# SPDX-License-Identifier: Apache-2.0
"""-o ro, and stores that cannot be written to: all is served, nothing touched."""
import ctypes
import errno
import os
import shutil
import subprocess
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only

MS_REMOUNT = 32
LEAF = os.path.join("model", "prompt")
MODULE = os.path.join(LEAF, "compiled_module")
NOTE = os.path.join("model", "note.json")


def snapshot(root):
    """What every entry below root is, without its access time."""
    found = {}
    for directory, names, files in os.walk(root):
        for name in [*names, *files, "."]:
            path = os.path.join(directory, name)
            st = os.lstat(path)
            found[path] = (st.st_ino, st.st_mode, st.st_size, st.st_mtime_ns,
                           st.st_ctime_ns, st.st_nlink)
    return found


class ReadOnlyTest(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")
        self.content = samples.module(1, 150000)

    def new_mount(self, name, *options, store=None):
        mount = harness.Mount(store or self.store, os.path.join(self.root, name),
                              options)
        self.addCleanup(mount.discard)
        return mount

    def fill(self):
        """Publishes, and returns what readable.py says."""
        with self.new_mount("writer") as writer:
            calls.save(os.path.join(writer.path, MODULE), self.content)
            calls.write(os.path.join(writer.path, NOTE), b"{}")
            os.symlink("note.json", os.path.join(writer.path, "model", "link"))
            return calls.read(os.path.join(writer.path, LEAF, "readable.py"))

    def pack(self):
        packs = os.path.join(self.store, "packs")
        path, = samples.files_below(packs)
        return os.path.join(packs, path)

    def manifest(self, path):
        return os.path.join(self.store, "refs", "default", path)

    def assertErrno(self, number, call, *arguments):
        with self.assertRaises(OSError) as caught:
            call(*arguments)
        self.assertEqual(errno.errorcode[caught.exception.errno],
                         errno.errorcode[number], f"{call}{arguments}")

    def assertServes(self, mount, readable):
        path = mount.path
        self.assertEqual(calls.read(os.path.join(path, MODULE)), self.content)
        self.assertEqual(calls.read(os.path.join(path, LEAF, "readable.py")),
                         readable)
        self.assertEqual(calls.read(os.path.join(path, "model", "link")), b"{}")
        self.assertEqual(sorted(os.listdir(os.path.join(path, LEAF))),
                         ["compiled_module", "readable.py"])
        self.assertTrue(os.statvfs(path).f_flag & os.ST_RDONLY,
                        "expected the kernel to know that it is read-only")

    def assertRefusesChanges(self, mount):
        path = mount.path
        module = os.path.join(path, MODULE)
        note = os.path.join(path, NOTE)
        fd = os.open(module, os.O_RDONLY)
        os.fsync(fd)
        for call, *arguments in (
                (calls.write, os.path.join(path, "new"), b""),
                (calls.write, module, b"", 0o600, os.O_WRONLY),
                (calls.write, module, b"", 0o600, os.O_WRONLY | os.O_TRUNC),
                (calls.write, note, b"", 0o600, os.O_WRONLY | os.O_APPEND),
                (os.truncate, note, 0),
                (os.mknod, os.path.join(path, "node")),
                (os.mkdir, os.path.join(path, "dir")),
                (os.symlink, "x", os.path.join(path, "symlink")),
                (os.unlink, module),
                (os.unlink, os.path.join(path, LEAF, "readable.py")),
                (os.rmdir, os.path.join(path, LEAF)),
                (os.rename, note, os.path.join(path, "note")),
                (os.chmod, note, 0o644),
                (os.fchmod, fd, 0o644),
                (os.utime, note)):
            self.assertErrno(errno.EROFS, call, *arguments)
        os.close(fd)


@mount_only
class ReadOnly(ReadOnlyTest):
    def test_everything_is_served_and_nothing_touched(self):
        readable = self.fill()
        before = snapshot(self.store)
        with self.new_mount("reader", "ro") as reader:
            self.assertServes(reader, readable)
            self.assertRefusesChanges(reader)
        self.assertEqual(snapshot(self.store), before)

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_daemon_refuses_what_a_remount_lets_through(self):
        self.fill()
        before = snapshot(self.store)
        with self.new_mount("reader", "ro") as reader:
            libc = ctypes.CDLL(None, use_errno=True)
            if libc.mount(None, os.fsencode(reader.path), None, MS_REMOUNT, None):
                self.skipTest("the kernel does not remount")
            self.assertRefusesChanges(reader)
        self.assertEqual(snapshot(self.store), before)

    def test_what_another_mount_publishes_appears(self):
        self.fill()
        reader = self.new_mount("reader", "ro").start()
        writer = self.new_mount("other").start()
        calls.save(os.path.join(writer.path, "more", "compiled_module"),
                   samples.module(2))
        calls.save(os.path.join(writer.path, MODULE), samples.module(3))
        self.assertEqual(calls.read(os.path.join(reader.path, "more",
                                                 "compiled_module")),
                         samples.module(2))
        self.assertEqual(calls.read(os.path.join(reader.path, MODULE)),
                         samples.module(3))
        for mount in reader, writer:
            mount.stop()

    def test_damaged_block_is_a_miss_and_stays(self):
        self.fill()
        with open(self.pack(), "r+b") as file:
            file.seek(100)
            file.write(b"\xff\x00\xff\x00")
        self.assertMiss("lost")

    def test_damaged_table_is_a_miss_and_stays(self):
        self.fill()
        os.truncate(self.pack(), os.path.getsize(self.pack()) - 7)
        self.assertMiss("table")

    def test_missing_pack_is_a_miss(self):
        self.fill()
        os.unlink(self.pack())
        self.assertMiss("lost")

    def test_damaged_manifest_is_a_miss_and_stays(self):
        self.fill()
        with open(self.manifest(MODULE), "r+b") as file:
            file.seek(40)
            file.write(b"\xff\xff")
        self.assertMiss("manifest|checksum|digest")

    def assertMiss(self, words):
        before = snapshot(self.store)
        with self.new_mount("reader", "ro") as reader:
            path = os.path.join(reader.path, MODULE)
            for _ in range(3):
                self.assertErrno(errno.ENOENT, calls.read, path)
            self.assertTrue(calls.missing(path), "expected no name that cannot be "
                            "opened")
            self.assertEqual(os.listdir(os.path.join(reader.path, LEAF)), [],
                             "expected no readable.py either")
            self.assertEqual(calls.read(os.path.join(reader.path, NOTE)), b"{}")
        self.assertEqual(snapshot(self.store), before)
        told = [line for line in reader.log_text().split("\n") if "damaged" in line]
        self.assertTrue(told, "expected the damage in the log")
        self.assertEqual(len(told), len(set(told)), f"expected each once: {told}")
        self.assertRegex(told[0], words)

    def test_healed_entry_is_served_again(self):
        self.fill()
        os.unlink(self.pack())
        with self.new_mount("reader", "ro") as reader:
            path = os.path.join(reader.path, MODULE)
            self.assertErrno(errno.ENOENT, calls.read, path)
            with self.new_mount("healer") as healer:
                calls.save(os.path.join(healer.path, MODULE), self.content)
            self.assertEqual(calls.read(path), self.content)

    def test_older_store_with_less_directories(self):
        readable = self.fill()
        for name in "tmp", "quarantine", "index", "trash", "intents", "stats":
            shutil.rmtree(os.path.join(self.store, name), ignore_errors=True)
        before = snapshot(self.store)
        with self.new_mount("reader", "ro") as reader:
            self.assertServes(reader, readable)
        self.assertEqual(snapshot(self.store), before)

    def test_missing_packs_and_refs(self):
        self.fill()
        shutil.rmtree(os.path.join(self.store, "packs"))
        with self.new_mount("reader", "ro") as reader:
            self.assertErrno(errno.ENOENT, calls.read,
                             os.path.join(reader.path, MODULE))
            self.assertEqual(calls.read(os.path.join(reader.path, NOTE)), b"{}")
        shutil.rmtree(os.path.join(self.store, "refs"))
        before = snapshot(self.store)
        with self.new_mount("empty", "ro") as reader:
            self.assertEqual(os.listdir(reader.path), [])
        self.assertEqual(snapshot(self.store), before)

    def test_namespace_that_is_not_there_is_empty(self):
        self.fill()
        before = snapshot(self.store)
        with self.new_mount("reader", "ro", "namespace=none") as reader:
            self.assertEqual(os.listdir(reader.path), [])
            self.assertErrno(errno.ENOENT, os.stat, os.path.join(reader.path, "x"))
            self.assertErrno(errno.EROFS, os.mkdir, os.path.join(reader.path, "x"))
        self.assertEqual(snapshot(self.store), before)

    def test_no_store_is_made(self):
        point = os.path.join(self.root, "point")
        empty = os.path.join(self.root, "empty")
        os.mkdir(point)
        os.mkdir(empty)
        for store in self.store, empty:
            done = harness.tacfs("mount", store, point, "-o", "ro")
            self.assertEqual(done.returncode, 1)
            self.assertIn(store.encode(), done.stderr)
        self.assertFalse(os.path.exists(self.store))
        self.assertEqual(os.listdir(empty), [])
        self.assertEqual(supervisor.mounts_below(point), [])


@mount_only
class NotWritable(ReadOnlyTest):
    @unittest.skipUnless(os.getuid() == 0, "mounts read-only")
    def test_store_on_a_read_only_file_system(self):
        readable = self.fill()
        store = os.path.join(self.root, "bound")
        os.mkdir(store)
        for arguments in ("--bind", self.store), ("-o", "remount,bind,ro"):
            subprocess.run(["mount", *arguments, store], check=True)
            self.addCleanup(subprocess.run, ["umount", "-l", store],
                            stderr=subprocess.DEVNULL)
        before = snapshot(self.store)
        with self.new_mount("reader", store=store) as reader:
            self.assertServes(reader, readable)
            self.assertRefusesChanges(reader)
        for arguments in ("gc",), ("set", "max-bytes=1G"), ("undelete", "/"):
            command, *rest = arguments
            done = harness.tacfs(command, store, *rest)
            self.assertEqual((done.returncode, done.stderr.decode()),
                             (1, f"tacfs: {command}: {store}: it cannot be written "
                              "to\n"))
        self.assertEqual(snapshot(self.store), before)
        self.assertEqual(reader.log_text(), f"tacfs: mount: {store}: it cannot be "
                         "written to: mounted read-only\n")
        point = os.path.join(self.root, "background")
        os.mkdir(point)
        done = harness.tacfs("mount", store, point, "-o", "rw")
        self.assertEqual((done.returncode, done.stderr.decode()),
                         (0, reader.log_text()))
        subprocess.run(["fusermount3", "-u", point], check=True)

    @unittest.skipUnless(harness.is_root(), "changes the user")
    def test_store_of_another_user(self):
        self.fill()
        shutil.rmtree(os.path.join(self.store, "index"))
        shutil.rmtree(os.path.join(self.store, "tmp"))
        subprocess.run(["chmod", "-R", "a+rX", self.store], check=True)
        top = os.environ["TACFS_TEST_ROOT"]
        os.chmod(top, 0o711)
        before = snapshot(self.store)
        command = [harness.binary(), "stats", "--json", self.store]
        try:
            done = subprocess.run(command, capture_output=True, user=65534,
                                  timeout=harness.PATIENCE)
        except PermissionError:
            self.skipTest("another user cannot reach the binary")
        self.assertEqual((done.returncode, done.stderr), (0, b""))
        self.assertIn(b'"files": 2', done.stdout)
        self.assertEqual(snapshot(self.store), before)


if __name__ == "__main__":
    harness.main()
