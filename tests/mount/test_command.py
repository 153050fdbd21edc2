# SPDX-License-Identifier: Apache-2.0
"""`tacfs mount` as a person types it: it returns once the mount answers."""
import errno
import os
import subprocess
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only


@mount_only
class Command(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "point")
        os.mkdir(self.point)
        self.addCleanup(self.unmount)

    def unmount(self):
        for path, _ in supervisor.mounts_below(self.root):
            supervisor.unmount_lazily(path)
        self.wait_for_daemons()

    def wait_for_daemons(self):
        """Daemons in the background are the supervisor's children."""
        name = os.path.basename(harness.binary())[:15]
        harness.wait_until(
            lambda: not [pid for pid in supervisor.descendants(os.getppid())
                         if supervisor.name_of(pid) == name],
            "the daemon to end after its mount")

    def mount(self, *options, store=None, point=None):
        return harness.tacfs("mount", store or self.store, point or self.point,
                             *options)

    def assertMounts(self, *options):
        done = self.mount(*options)
        self.assertEqual(done.returncode, 0, f"expected 0, seen {done.returncode}: "
                         f"{done.stderr.decode()}")

    def assertRefuses(self, done):
        self.assertIn(done.returncode, (1, 64), "expected an error, seen "
                      f"{done.returncode}: {done.stderr.decode()}")
        self.assertIn(b"tacfs", done.stderr, "expected a message on standard error, "
                      f"seen {done.stderr!r}")
        mounted = supervisor.mounts_below(self.root)
        self.assertEqual(mounted, [], f"expected nothing mounted, seen {mounted}")

    def test_answers_when_it_returns(self):
        self.assertMounts()
        calls.save(os.path.join(self.point, "m", "compiled_module"),
                   samples.module(1))
        (path, kind), = supervisor.mounts_below(self.point)
        self.assertEqual((path, kind), (self.point, "fuse.tacfs"),
                         "expected a mount of type fuse.tacfs")
        subprocess.run(["fusermount3", "-u", self.point], check=True)
        self.wait_for_daemons()
        self.assertEqual(os.listdir(self.point), [], "expected an empty mount point")
        self.assertMounts()
        self.assertEqual(calls.read(os.path.join(self.point, "m",
                                                 "compiled_module")),
                         samples.module(1), "expected the module after a remount")

    def test_output_ends_when_it_returns(self):
        """A script that reads the command's output must not wait for the daemon."""
        command = [harness.binary(), "mount", self.store, self.point]
        process = subprocess.Popen(command, stdin=subprocess.DEVNULL,
                                   stdout=subprocess.PIPE, stderr=subprocess.STDOUT)
        output, _ = process.communicate(timeout=harness.PATIENCE)
        self.assertEqual((process.returncode, output), (0, b""),
                         "expected success without a word")

    @unittest.skipUnless(os.getuid() == 0, "needs root")
    def test_umount(self):
        self.assertMounts()
        subprocess.run(["umount", self.point], check=True)
        self.wait_for_daemons()

    def test_relative_paths(self):
        done = subprocess.run([harness.binary(), "mount", "store", "point"],
                              cwd=self.root, capture_output=True)
        self.assertEqual(done.returncode, 0, f"expected 0, seen {done}")
        calls.write(os.path.join(self.point, "file"), b"x")
        self.assertTrue(os.path.isfile(os.path.join(self.store, "FORMAT")),
                        "expected a store with a FORMAT")

    def test_makes_the_store_as_specified(self):
        self.assertMounts()
        calls.write(os.path.join(self.point, "file"), samples.noise(1, 100000))
        os.mkdir(os.path.join(self.point, "dir"))
        names = set(os.listdir(self.store))
        self.assertLessEqual({"FORMAT", "refs", "packs", "tmp"}, names,
                             f"expected the parts of a store, seen {names}")
        self.assertEqual(sorted(os.listdir(os.path.join(self.store, "refs",
                                                        "default"))),
                         ["dir", "file"], "expected the users' own names in refs")
        packs = samples.files_below(os.path.join(self.store, "packs"))
        for path in packs:
            self.assertRegex(path, r"^([0-9a-f]{2})/[0-9a-f]{32}$",
                             "expected packs/<2 hex>/<32 hex>")
        self.assertGreater(len(packs), 0, "expected a pack")

    def test_refusals(self):
        file = os.path.join(self.root, "file")
        calls.write(file, b"x")
        foreign = os.path.join(self.root, "foreign")
        os.mkdir(foreign)
        calls.write(os.path.join(foreign, "something"), b"else")
        for what, done in (
                ("no mount point", lambda: self.mount(point="/nonexistent/point")),
                ("a file as the mount point", lambda: self.mount(point=file)),
                ("a file as the store", lambda: self.mount(store=file)),
                ("a directory that is no store", lambda: self.mount(store=foreign)),
                ("an unknown option", lambda: self.mount("-o", "nonsense")),
                ("an unknown flag", lambda: self.mount("--nonsense")),
                ("one argument", lambda: harness.tacfs("mount", self.store)),
                ("no argument", lambda: harness.tacfs("mount")),
                ("an unknown command", lambda: harness.tacfs("nonsense"))):
            with self.subTest(what=what):
                self.assertRefuses(done())
            self.unmount()
        self.assertEqual(os.listdir(foreign), ["something"], "expected a directory "
                         "that is no store to be left alone")

    def test_help_and_version(self):
        for arguments in (["--help"], ["--version"], ["mount", "--help"],
                          ["show", "--help"], ["stats", "--help"]):
            done = harness.tacfs(*arguments)
            self.assertEqual((done.returncode, done.stderr), (0, b""),
                             f"{arguments}: expected success")
            self.assertTrue(done.stdout, f"{arguments}: expected some text")

    @unittest.skipUnless(harness.is_root(), "writes as another user's")
    def test_owner_option(self):
        self.assertMounts("-o", "uid=1234,gid=4321")
        calls.write(os.path.join(self.point, "file"), b"x")
        for path in (self.point, os.path.join(self.point, "file")):
            status = os.lstat(path)
            self.assertEqual((status.st_uid, status.st_gid), (1234, 4321),
                             f"{harness.short(path)}: expected the owner of -o uid")

    def test_read_only(self):
        self.assertMounts()
        calls.save(os.path.join(self.point, "m", "compiled_module"),
                   samples.module(1))
        subprocess.run(["fusermount3", "-u", self.point], check=True)
        self.assertMounts("-o", "ro")
        self.assertEqual(calls.read(os.path.join(self.point, "m",
                                                 "compiled_module")),
                         samples.module(1), "expected the module")
        for call in (lambda: calls.write(os.path.join(self.point, "new"), b""),
                     lambda: os.mkdir(os.path.join(self.point, "dir")),
                     lambda: os.unlink(os.path.join(self.point, "m",
                                                    "compiled_module"))):
            with self.assertRaises(OSError) as caught:
                call()
            self.assertEqual(caught.exception.errno, errno.EROFS,
                             f"expected EROFS, seen {caught.exception}")

    def test_mount_point_with_odd_name(self):
        self.point = os.path.join(self.root, "odd name, with\ttab推")
        self.store = os.path.join(self.root, "odd store, too")
        os.mkdir(self.point)
        self.assertMounts()
        calls.write(os.path.join(self.point, "file"), b"x")
        self.assertTrue(supervisor.mounts_below(self.point), "expected a mount")

    def test_show_reads_standard_input(self):
        with open(os.path.join(samples.tree("official"), next(
                path for path in samples.files_below(samples.tree("official"))
                if path.endswith("compiled_module"))), "rb") as file:
            content = file.read()
        path = os.path.join(self.root, "compiled_module")
        calls.write(path, content)
        from_file = harness.tacfs("show", path)
        piped = subprocess.run([harness.binary(), "show", "-"], input=content,
                               capture_output=True)
        self.assertEqual((piped.returncode, piped.stdout),
                         (0, from_file.stdout), "expected the same text from a pipe")

    def test_show_and_stats_of_what_is_not_there(self):
        for arguments in (("show", os.path.join(self.root, "none")),
                          ("stats", os.path.join(self.root, "none")),
                          ("stats", self.root)):
            done = harness.tacfs(*arguments)
            self.assertIn(done.returncode, (1, 3, 64), f"{arguments}: expected an error, "
                          f"seen {done.returncode}")
            self.assertTrue(done.stderr, f"{arguments}: expected a message")


if __name__ == "__main__":
    harness.main()
