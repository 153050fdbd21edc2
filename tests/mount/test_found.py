# SPDX-License-Identifier: Apache-2.0
"""What once went wrong on a mount, and must not again."""
import errno
import os
import signal
import subprocess
import sys
import unittest

import calls
import harness
import samples
from harness import mount_only

TOUCH = """import os, sys
while True:
    try:
        os.utime(sys.argv[1])
        os.chmod(sys.argv[1], 0o600)
    except FileNotFoundError:
        pass
"""


@mount_only
class Found(harness.MountTest):
    mounts = 2

    def touching(self, path):
        """Another process that changes the attributes of path all the time."""
        process = subprocess.Popen([sys.executable, "-c", TOUCH, path])
        self.addCleanup(process.wait)
        self.addCleanup(process.kill)
        return process

    def check_publications(self, path, touched, patience=0):
        process = self.touching(touched)
        for number in range(60):
            content = samples.module(number % 3, 20000)
            calls.write(path, content)
            if patience:
                harness.wait_until(lambda: calls.read(path) == content,
                                   f"publication {number}", patience)
            else:
                self.assertContent(path, content,
                                   hint=f": publication {number} is lost")
        process.kill()

    def test_changes_of_attributes_undo_no_publication(self):
        path = self.path("compiled_module")
        self.check_publications(path, path)

    def test_nor_do_those_of_another_mount(self):
        """In the instant of an exchange (format.md) the older one may be seen."""
        self.check_publications(self.path("compiled_module"),
                                os.path.join(self.other_dir, "compiled_module"), 5)

    def test_changes_of_attributes_bring_nothing_back(self):
        path = self.path("a.json")
        process = self.touching(os.path.join(self.other_dir, "a.json"))
        other = self.agent().calls
        for _ in range(40):
            calls.write(path, b"{}")
            os.unlink(path)
            self.assertMissing(path, by=other)
        process.kill()

    def test_writer_of_a_renamed_file_goes_on_in_private(self):
        content = samples.module(1)
        fd = os.open(self.path("new"), os.O_RDWR | os.O_CREAT, 0o600)
        calls.write_fd(fd, content)
        os.rename(self.path("new"), self.path("compiled_module"))
        os.pwrite(fd, b"GARBAGE" * 50, 0)
        other = self.agent().calls
        self.assertContent(self.path("compiled_module"), content, by=other)
        os.close(fd)
        self.assertContent(self.path("compiled_module"), content, by=other)

    def test_renamed_private_version_is_what_is_published(self):
        first, second = (os.open(self.path(name), os.O_WRONLY | os.O_CREAT, 0o600)
                         for name in ("a.om", "b.om"))
        calls.write_fd(first, samples.om(1))
        calls.write_fd(second, samples.om(2))
        os.rename(self.path("a.om"), self.path("b.om"))
        os.close(first)
        os.close(second)
        self.assertContent(self.path("b.om"), samples.om(1))

    def test_directory_with_an_own_version_is_not_empty(self):
        os.mkdir(self.path("model"))
        fd = os.open(self.path("model", "a.om"), os.O_WRONLY | os.O_CREAT, 0o600)
        calls.write_fd(fd, samples.om(1))
        with self.assertRaises(OSError) as caught:
            os.rmdir(self.path("model"))
        self.assertEqual(caught.exception.errno, errno.ENOTEMPTY)
        os.close(fd)
        self.assertContent(self.path("model", "a.om"), samples.om(1))

    def test_open_version_can_be_opened_again_without_a_path(self):
        content = samples.module(1)
        calls.write(self.path("compiled_module"), content)
        fd = os.open(self.path("compiled_module"), os.O_RDONLY)
        calls.write(self.path("compiled_module"), samples.module(2))
        self.assertContent(f"/proc/self/fd/{fd}", content)
        os.unlink(self.path("compiled_module"))
        self.assertContent(f"/proc/self/fd/{fd}", content)
        os.close(fd)

    def test_writer_without_a_path_hides_nothing(self):
        calls.write(self.path("compiled_module"), samples.module(1))
        fd = os.open(self.path("compiled_module"), os.O_RDONLY)
        with self.assertRaises(OSError) as caught:
            os.open(f"/proc/self/fd/{fd}", os.O_RDWR)
        self.assertEqual(caught.exception.errno, errno.ETXTBSY)
        os.close(fd)
        self.agent().calls.write(self.path("compiled_module"), samples.module(2))
        self.assertContent(self.path("compiled_module"), samples.module(2))

    def test_writer_whose_walk_failed_comes_again(self):
        """The kernel knows the file, not that its directory is there again."""
        path = self.path("there", "compiled_module")
        calls.save(path, samples.module(1))
        mover = self.agent()
        mover.begin("calls.move_there_and_back", self.path("there"),
                    self.path("away"), 1000)
        seen = set()
        while not mover.answered(0):
            try:
                os.close(os.open(path, os.O_WRONLY))
            except OSError as error:
                seen.add(errno.errorcode[error.errno])
        mover.end()
        self.assertLessEqual(seen, {"ENOENT"})

    def test_index_may_name_a_symlink_but_no_directory(self):
        calls.write(self.path("real.om"), samples.om(1))
        os.symlink("real.om", self.path("link.om"))
        os.makedirs(self.path("other", "dir.om"))
        calls.write(self.path("link.idx"), samples.idx("link.om"))
        calls.write(self.path("other", "dir.idx"), samples.idx("dir.om"))
        other = self.agent().calls
        self.assertContent(self.path("link.idx"), samples.idx("link.om"), by=other)
        self.assertMissing(self.path("other", "dir.idx"), by=other)

    def test_file_without_a_name_has_no_links(self):
        fds = []
        for name in ("unlinked", "replaced", "new"):
            calls.write(self.path(name), b"content")
            fds.append(os.open(self.path(name), os.O_RDWR))
        os.unlink(self.path("unlinked"))
        os.rename(self.path("new"), self.path("replaced"))
        for fd, links in zip(fds, (0, 0, 1)):
            os.write(fd, b"more")
            self.assertEqual(os.fstat(fd).st_nlink, links)
            os.close(fd)


@mount_only
class Ended(unittest.TestCase):
    def test_daemon_that_is_ended_publishes_only_what_was_closed(self):
        root = harness.new_directory("Ended")
        mount = harness.Mount(os.path.join(root, "store"),
                              os.path.join(root, "mount"), ())
        self.addCleanup(mount.discard)
        mount.start()
        fds = []
        for name in ("compiled_module", "a.json"):
            fds.append(os.open(os.path.join(mount.path, name),
                               os.O_WRONLY | os.O_CREAT, 0o600))
            calls.write_fd(fds[-1], samples.module(1))
        mount.process.send_signal(signal.SIGTERM)
        self.assertEqual(mount.process.wait(60), 0, "expected a clean end")
        self.assertEqual(os.listdir(os.path.join(root, "store", "refs", "default")),
                         ["a.json"], "expected the plain file, and no open artifact")
        for fd in fds:
            try:
                os.close(fd)
            except OSError:
                pass


@mount_only
@unittest.skipIf(os.geteuid() != 0, "mounts a tmpfs")
class FullStore(unittest.TestCase):
    def test_hole_in_a_full_store_is_an_error(self):
        root = harness.new_directory("FullStore")
        store = os.path.join(root, "store")
        os.mkdir(store)
        subprocess.run(["mount", "-t", "tmpfs", "-o", "size=3m", "tmpfs", store],
                       check=True)
        self.addCleanup(subprocess.run, ["umount", "-l", store])
        mount = harness.Mount(store, os.path.join(root, "mount"), ())
        self.addCleanup(mount.discard)
        mount.start()
        fd = os.open(os.path.join(mount.path, "compiled_module"),
                     os.O_RDWR | os.O_CREAT, 0o600)
        os.truncate(fd, 1 << 20)
        with open(os.path.join(store, "filler"), "wb", buffering=0) as filler:
            try:
                while filler.write(bytes(4096)):
                    pass
            except OSError as error:
                self.assertEqual(error.errno, errno.ENOSPC)
        try:
            os.close(fd)
        except OSError as error:
            self.assertEqual(error.errno, errno.ENOSPC)
        self.assertTrue(mount.alive(), "expected the daemon to live")
        os.unlink(os.path.join(store, "filler"))
        content = samples.module(1)
        calls.write(os.path.join(mount.path, "compiled_module"), content)
        self.assertEqual(calls.read(os.path.join(mount.path, "compiled_module")),
                         content)
        mount.stop()


if __name__ == "__main__":
    harness.main()
