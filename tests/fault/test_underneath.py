# SPDX-License-Identifier: Apache-2.0
"""What happens to the store underneath a mount, while it is used.

Its file system is full, or read-only; its directory is deleted, replaced, or closed
to us; parts of it are missing. Each call works then, or says soon what is wrong; no
byte is wrong, and nothing goes where nobody finds it. With the fault gone, all works.
"""
import os
import shutil
import subprocess
import sys
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))

import calls  # noqa: E402
import harness  # noqa: E402
import kinds  # noqa: E402
from harness import mount_only  # noqa: E402

LIMIT = 20 if harness.sanitized() else 5  # seconds that a call may take
PARTS = ("refs/default/c", "refs/default", "packs", "tmp", "intents", "trash")
ROOT = os.geteuid() == 0


class Plainly(harness.Mount):
    """Root's daemon with no more rights to files than others have."""

    def command(self):
        limit = ["setpriv", "--bounding-set=-dac_override,-dac_read_search"]
        return (limit if ROOT else []) + super().command()


def make_master():
    """A store with the tree of kinds.py, none of which is to be evicted."""
    root = harness.new_directory("master")
    store = os.path.join(root, "store")
    with harness.Mount(store, os.path.join(root, "mount")) as mount:
        kinds.prepare(mount.path)
    done = harness.tacfs("pin", store, "/")
    if done.returncode:
        raise AssertionError(done.stderr)
    return store


class Underneath(unittest.TestCase):
    """self.mount is one of self.store, a copy of the master."""

    kind = harness.Mount
    master = None

    @classmethod
    def setUpClass(cls):
        Underneath.master = Underneath.master or make_master()

    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.place = self.make_place()
        self.store = os.path.join(self.place, "store")
        shutil.copytree(self.master, self.store, symlinks=True)
        self.mount = self.kind(self.store, os.path.join(self.root, "mount"))
        self.addCleanup(self.mount.discard)
        self.mount.start()
        self.agent, self.observer = self.new_agent(), self.new_agent()
        self.agent.kinds.begin(self.mount.path)

    def make_place(self):
        return self.root

    def new_agent(self):
        agent = harness.Agent()
        self.addCleanup(agent.close)
        return agent

    def part(self, *names):
        return os.path.join(self.store, *names)

    def attempt(self, kind):
        self.agent.begin("kinds.attempt", self.mount.path, kind)
        self.assertTrue(self.agent.answered(LIMIT), f"{kind}: expected an answer "
                        f"within {LIMIT} s, seen none")
        return self.agent.end()

    def attempt_all(self):
        return {kind: self.attempt(kind) for kind in kinds.ALL}

    def fails(self, *errors, works=(), fails=()):
        """All works, or fails with these errors; what `works` and `fails` surely."""
        results = self.attempt_all()
        for kind, result in results.items():
            allowed = [] if kind in works else list(errors)
            if kind not in fails:
                allowed.append("done")
            self.assertIn(result, allowed, f"{kind}: {results}\n{self.log()}")
        self.check(errors)

    def check(self, errors=()):
        self.assertTrue(self.mount.alive(), self.log())
        wrong = self.observer.kinds.check(
            self.mount.path, self.agent.kinds.allowed(self.mount.path), errors)
        self.assertEqual(wrong, [], self.log())

    def all_works(self):
        results = self.attempt_all()
        self.assertEqual(set(results.values()), {"done"}, f"{results}\n{self.log()}")
        self.check()

    def works_after_remount(self):
        self.agent.kinds.release(self.mount.path)
        self.mount.restart()
        self.agent.kinds.resume(self.mount.path)
        self.all_works()

    def is_whole(self):
        """Nothing was taken for damage."""
        self.assertEqual(os.listdir(self.part("quarantine")), [], self.log())

    def log(self):
        return self.mount.log_text()

    def assertTold(self, *words):
        for word in words:
            self.assertIn(word, self.log())


@mount_only
class Removed(Underneath):
    """What is held of it is dead: only another mount can help."""

    def is_told_and_lost(self):
        self.fails("EIO", works=("read_open", "statfs"), fails=(
            "create_plain", "create_artifact", "write_open", "publish_open"))
        self.assertTold("was deleted")

    def test_the_store(self):
        shutil.rmtree(self.store)
        self.is_told_and_lost()
        listing = self.attempt("read_directory")
        self.assertEqual(listing, "EIO", "not an empty cache")
        shutil.copytree(self.master, self.store, symlinks=True)
        self.is_told_and_lost()
        self.agent.kinds.release(self.mount.path)
        self.mount.restart()
        self.agent.kinds.begin(self.mount.path)
        self.all_works()

    def test_the_namespaces(self):
        shutil.move(self.part("refs"), self.part("kept"))
        self.all_works()
        shutil.copytree(self.part("kept"), self.part("refs"), symlinks=True)
        shutil.rmtree(self.part("kept"))
        self.is_told_and_lost()
        self.works_after_remount()

    def test_the_packs(self):
        shutil.copytree(self.part("packs"), self.part("kept"))
        shutil.rmtree(self.part("packs"))
        self.is_told_and_lost()
        os.rename(self.part("kept"), self.part("packs"))
        self.is_whole()
        self.works_after_remount()

    def test_workplaces(self):
        for name in ("tmp", "intents"):
            shutil.rmtree(self.part(name))
            self.fails("EIO", works=set(kinds.READS) - {"stat_missing"},
                       fails=("create_plain", "publish_open"))
            self.assertTold("was deleted")
            self.works_after_remount()

    def test_what_is_made_again(self):
        for name in ("trash", "quarantine", "index", "stats"):
            shutil.rmtree(self.part(name))
        self.all_works()
        self.works_after_remount()

    def test_a_directory_of_the_mount_is_no_fault(self):
        shutil.rmtree(self.part("refs", "default", "c"))
        self.fails("ENOENT", works=kinds.READS)
        os.mkdir(os.path.join(self.mount.path, "c"))
        self.assertNotIn("was deleted", self.log())


@mount_only
class Replaced(Underneath):
    """A mount has the store, not its path, as other file systems have their disks."""

    def test_by_something_else(self):
        moved = self.store + ".moved"
        os.rename(self.store, moved)
        for make in (os.mkdir, lambda path: calls.write(path, b""),
                     lambda path: shutil.copytree(self.master, path, symlinks=True)):
            make(self.store)
            self.all_works()
            (os.unlink if os.path.isfile(self.store) else shutil.rmtree)(self.store)
        os.rename(moved, self.store)
        self.works_after_remount()


@mount_only
class Closed(Underneath):
    """Modes and owners of the store change."""

    kind = Plainly

    def modes(self, top):
        return {path: os.stat(path).st_mode & 0o7777
                for path, _, _ in os.walk(top)}

    def test_read_only_directories(self):
        modes = self.modes(self.store)
        for path in modes:
            os.chmod(path, 0o555)
        self.fails("EACCES", works=kinds.READS, fails=("create_plain", "mkdir",
                                                       "create_artifact"))
        self.assertTold("Permission denied")
        for path, mode in modes.items():
            os.chmod(path, mode)
        self.all_works()

    def test_one_part_after_the_other(self):
        for name in PARTS:
            path = self.part(name)
            mode = os.stat(path).st_mode & 0o7777
            os.chmod(path, 0)
            self.fails("EACCES", works=("read_open", "statfs"))
            self.assertTold("Permission denied")
            os.chmod(path, mode)
            self.all_works()
            self.is_whole()

    def test_one_entry(self):
        name = "cached.txt"
        os.chmod(self.part("refs", "default", "m", name), 0)
        self.assertEqual(self.attempt("read_cached"), "EACCES")
        self.assertEqual(self.attempt("read_directory"), "done", "it is there")
        self.is_whole()
        os.chmod(self.part("refs", "default", "m", name), 0o600)
        self.all_works()

    @unittest.skipUnless(harness.is_root(), "gives the store away")
    def test_another_owner(self):
        modes = self.modes(self.store)
        for path in modes:
            os.chmod(path, 0o700)
            os.chown(path, 1, 1)
        self.fails("EACCES", works=("read_open", "statfs"), fails=("create_plain",))
        self.is_whole_for_others()
        for path, mode in modes.items():
            os.chown(path, os.geteuid(), os.getegid())
            os.chmod(path, mode)
        self.all_works()

    def is_whole_for_others(self):
        self.assertTold("Permission denied")
        self.is_whole()


class Disk(Underneath):
    """The store has a file system of its own."""

    def make_place(self):
        place = os.path.join(self.root, "disk")
        os.makedirs(place)
        self.make_disk(place)
        self.addCleanup(subprocess.run, ["umount", "-l", place], check=True)
        return place

    def run_mount(self, *arguments):
        return subprocess.run(["mount", *arguments], capture_output=True).returncode

    def fill(self):
        with open(os.path.join(self.place, "ballast"), "wb", buffering=0) as file:
            for size in (1 << 20, 4096):
                try:
                    while True:
                        file.write(bytes(size))
                except OSError:
                    pass

    def fills(self):
        self.fill()
        self.fails("ENOSPC", works=kinds.READS, fails=("replace_artifact",))
        self.assertTold("No space left")
        os.unlink(os.path.join(self.place, "ballast"))
        self.all_works()
        self.is_whole()


@mount_only
@unittest.skipUnless(ROOT, "mounts a file system")
class InMemory(Disk):
    def make_disk(self, place):
        if self.run_mount("-t", "tmpfs", "-o", "size=12m", "tmpfs", place):
            self.skipTest("no tmpfs can be mounted")

    def test_filled(self):
        self.fills()

    def test_deleted(self):
        """A file can still be made in a removed directory here."""
        shutil.rmtree(self.store)
        self.fails("EIO", works=("read_open", "statfs"), fails=(
            "create_plain", "create_artifact", "write_open", "publish_open"))
        self.assertTold("was deleted")


@mount_only
@unittest.skipUnless(ROOT and shutil.which("mkfs.ext4"), "mounts a file system")
class OnDisk(Disk):
    def make_disk(self, place):
        self.image = os.path.join(self.root, "image")
        with open(self.image, "wb") as file:
            file.truncate(24 << 20)
        subprocess.run(["mkfs.ext4", "-q", "-m", "0", self.image], check=True)
        if self.run_mount("-o", "loop,errors=remount-ro", self.image, place):
            self.skipTest("no loop device can be mounted")

    def test_filled(self):
        self.fills()

    def test_read_only(self):
        """While nothing is being written: else the kernel refuses that."""
        self.assertEqual(self.attempt("publish_open"), "done")
        self.assertEqual(self.attempt("write_open"), "done")
        harness.wait_until(
            lambda: self.run_mount("-o", "remount,ro", self.place) == 0,
            "the store's file system to become read-only", 30)
        self.fails("EROFS", works=kinds.READS, fails=(
            "create_plain", "create_artifact", "mkdir", "publish_open"))
        self.assertTold("Read-only file system")
        self.assertEqual(self.run_mount("-o", "remount,rw", self.place), 0)
        self.all_works()
        self.is_whole()

    def test_broken(self):
        """The kernel makes it read-only in the midst of writing."""
        device = os.path.basename(os.path.realpath(self.device()))
        try:
            calls.write(f"/sys/fs/ext4/{device}/trigger_fs_error", b"by a test")
        except OSError as error:
            self.skipTest(f"no error can be made: {error}")
        self.fails("EROFS", "EIO", works=("read_open", "statfs"),
                   fails=("create_plain", "create_artifact", "publish_open"))
        self.is_whole()

    def device(self):
        with open("/proc/self/mounts") as table:
            return next(line.split()[0] for line in table
                        if line.split()[1] == self.place)


if __name__ == "__main__":
    harness.main()
