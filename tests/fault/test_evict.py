# SPDX-License-Identifier: Apache-2.0
"""A store with bounds: what goes to make room, what stays, and a full disk.

The bar's full length (100 MiB under 1 GiB) is taken with TACFS_LONG=1.
"""
import errno
import json
import os
import random
import signal
import subprocess
import sys
import time
import unittest

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))

import calls  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
from harness import mount_only  # noqa: E402

MIB = 1 << 20
CAP = harness.amount(4, 100) * MIB
SIZE = CAP // harness.amount(16, 100)
COUNT = harness.amount(80, 1024)
ROUNDS = harness.amount(4, 60)


def used(store):
    """What counts against the cap: packs and manifests.

    By inode, since somebody may move them from one place to the next meanwhile.
    """
    sizes = {}
    for part in ("packs", "refs", "trash"):
        for path in samples.files_below(os.path.join(store, part)):
            try:
                seen = os.lstat(os.path.join(store, part, path))
            except FileNotFoundError:
                continue
            sizes[seen.st_ino] = seen.st_size
    return sum(sizes.values())


def leaf(top, number):
    return os.path.join(top, f"model{number:05d}", "rank0")


def publish(top, number, size=SIZE):
    """Three files in a leaf directory, most of it in one."""
    os.makedirs(leaf(top, number))
    calls.write(os.path.join(leaf(top, number), "graph.om"),
                samples.om(number, size))
    for name in ("log", "settings.json"):
        calls.write(os.path.join(leaf(top, number), name),
                    samples.text((name, number), 100))


class Evicting(harness.MountTest):
    mounts = 2

    def setUp(self):
        pass  # a test's own directory would be evicted

    def evict(self, size=0):
        return harness.tacfs("gc", "--json", f"--evict={size}", self.store)

    def assertWhole(self, top, number, size=SIZE):
        path = leaf(top, number)
        self.assertEqual(sorted(os.listdir(path)),
                         ["graph.om", "log", "settings.json"])
        self.assertContent(os.path.join(path, "graph.om"), samples.om(number, size))

    def numbers(self, top):
        return sorted(int(name[5:]) for name in os.listdir(top))

    def assertSound(self):
        done = harness.tacfs("fsck", "--read-data", self.store)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


@mount_only
class Capped(Evicting):
    options = (f"max_bytes={CAP}",)

    def test_never_above_the_cap_and_the_last_used_survive(self):
        top, other = self.mount.path, self.other.path
        peak = 0
        for number in range(COUNT):
            publish(top, number)
            self.assertContent(os.path.join(leaf(top, 0), "graph.om"),
                               samples.om(0, SIZE))
            peak = max(peak, used(self.store))
            self.assertLessEqual(peak, CAP + SIZE + 4096,
                                 f"after publication {number}")
        harness.wait_until(lambda: used(self.store) <= CAP * 0.95,
                           "the mounts to make room ahead of time", 60)
        numbers = self.numbers(other)
        print(f"\n  at most {peak} of {CAP} bytes, {len(numbers)} of {number + 1} "
              f"directories left", end="")
        self.assertEqual(numbers, [0, *range(numbers[1], number + 1)])
        self.assertGreater(len(numbers) * SIZE, CAP * 0.75)
        for survivor in numbers:
            self.assertWhole(other, survivor)
        self.assertSound()
        with open(os.path.join(top, ".tacfs", "stats.json")) as file:
            counted = json.load(file)["mount"]["evicted"]
        # The janitor of the other mount has a share in it.
        self.assertLessEqual(counted, 3 * (number + 1 - len(numbers)))


@mount_only
class Kept(Evicting):
    """What does not go, whatever the need."""

    def tearDown(self):
        super().tearDown()
        self.evict()

    def test_what_another_mount_has_open_stays(self):
        publish(self.mount.path, 1)
        publish(self.mount.path, 2)
        with open(os.path.join(leaf(self.other.path, 1), "log")) as file:
            self.assertEqual(self.evict().returncode, 1)
            self.assertEqual(self.numbers(self.mount.path), [1])
            self.assertWhole(self.mount.path, 1)
            self.assertEqual(file.read().encode(), samples.text(("log", 1), 100))
        harness.wait_until(lambda: self.evict().returncode == 0,
                           "the other directory to be evicted")
        self.assertEqual(self.numbers(self.other.path), [])

    def test_a_version_that_is_being_written_keeps_its_directory(self):
        publish(self.mount.path, 1)
        path = os.path.join(leaf(self.mount.path, 1), "other.om")
        fd = os.open(path, os.O_WRONLY | os.O_CREAT, 0o600)
        calls.write_fd(fd, samples.om(9))
        self.assertEqual(self.evict().returncode, 1)
        os.close(fd)
        self.assertContent(os.path.join(leaf(self.other.path, 1), "other.om"),
                           samples.om(9))

    def test_what_is_pinned_stays(self):
        for number in (1, 2, 3):
            publish(self.mount.path, number)
        paths = ("model00001", "/model00003/rank0/log/")
        for path in paths:
            self.assertEqual(harness.tacfs("pin", self.store, path).returncode, 0)
        done = harness.tacfs("pin", "--list", "--json", self.store)
        self.assertEqual([pin["path"] for pin in json.loads(done.stdout)],
                         ["model00001", "model00003/rank0/log"])
        self.assertEqual(self.evict().returncode, 1)
        self.assertEqual(self.numbers(self.other.path), [1, 3])
        self.assertWhole(self.other.path, 1)
        for path in paths:
            self.assertEqual(harness.tacfs("unpin", self.store, path).returncode, 0)
        self.assertEqual(harness.tacfs("unpin", self.store, "x").returncode, 1)
        self.assertEqual(self.evict().returncode, 0)
        self.assertEqual(self.numbers(self.other.path), [])

    def test_a_use_does_not_show(self):
        """tar takes another ctime for a change."""
        publish(self.mount.path, 1)
        time.sleep(0.02)
        before = os.stat(leaf(self.mount.path, 1)).st_ctime_ns
        calls.read(os.path.join(leaf(self.mount.path, 1), "log"))
        self.assertEqual(os.stat(leaf(self.mount.path, 1)).st_ctime_ns, before)

    def test_what_is_published_into_an_evicted_directory_is_there(self):
        """As it goes where locks tell nothing: a directory that is in use is moved."""
        publish(self.mount.path, 1)
        path = os.path.join(leaf(self.mount.path, 1), "graph.om")
        fd = os.open(path, os.O_WRONLY | os.O_TRUNC)
        calls.write_fd(fd, samples.om(7))
        evicted = os.path.join(self.store, "trash", "evicted", "0123456789abcdef")
        os.symlink("default/model00001/rank0", evicted + ".path")
        os.rename(os.path.join(self.store, "refs/default/model00001/rank0"), evicted)
        os.close(fd)
        for mount in self.mounted:
            self.assertContent(os.path.join(leaf(mount.path, 1), "graph.om"),
                               samples.om(7))
        self.evict(MIB)
        self.assertEqual(samples.files_below(os.path.dirname(evicted)), [])
        self.assertContent(path, samples.om(7))

    def test_a_killed_evictor_leaves_nothing_half(self):
        chance = random.Random(4)
        for number in range(20):
            publish(self.mount.path, number, 20000)
        for _ in range(ROUNDS):
            process = subprocess.Popen(
                [harness.binary(), "gc", f"--evict={used(self.store) // 2}",
                 self.store], stdout=subprocess.DEVNULL)
            time.sleep(chance.random() * harness.amount(0.4, 0.2))
            process.send_signal(signal.SIGKILL)
            process.wait()
            for name in os.listdir(self.other.path):
                if os.listdir(os.path.join(self.other.path, name)):
                    self.assertWhole(self.other.path, int(name[5:]), 20000)
        self.assertEqual(self.evict().returncode, 0)
        self.assertEqual(os.listdir(self.other.path), [])
        self.assertEqual(samples.files_below(os.path.join(self.store, "packs")), [])
        self.assertEqual(samples.files_below(os.path.join(self.store, "trash")), [])


@mount_only
class Killed(Evicting):
    mounts = 1
    options = (f"max_bytes={MIB}",)

    def test_a_killed_mount_does_not_keep_others_from_evicting(self):
        chance = random.Random(5)
        last = 0
        for _ in range(harness.amount(2, 40)):
            agent = self.agent()
            agent.call("os.getpid")
            number = last
            deadline = time.monotonic() + chance.random()
            while time.monotonic() < deadline:
                publish(self.mount.path, number, 60000)
                number += 1
            agent.begin("calls.write", os.path.join(self.mount.path, "file"),
                        samples.noise(number, 200000))
            time.sleep(chance.random() * 0.1)
            self.mount.kill()
            self.mount.start()
            self.check_survivors()
            last = number
        for number in range(last, last + 20):
            publish(self.mount.path, number, 60000)
        self.assertLessEqual(used(self.store), MIB)

    def check_survivors(self):
        """A directory is whole, or not there; the one above may still be."""
        for name in os.listdir(self.mount.path):
            if name != "file" and os.listdir(os.path.join(self.mount.path, name)):
                self.assertWhole(self.mount.path, int(name[5:]), 60000)


@mount_only
class Full(Evicting):
    """A store that fills its file system. Needs the right to mount a tmpfs."""

    mounts = 0

    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory(cls.__name__)
        cls.disk = os.path.join(cls.root, "disk")
        os.mkdir(cls.disk)
        done = subprocess.run(["mount", "-t", "tmpfs", "-o", "size=8m", "tmpfs",
                               cls.disk], stderr=subprocess.DEVNULL)
        if done.returncode:
            raise unittest.SkipTest("cannot mount a tmpfs")
        cls.addClassCleanup(subprocess.run, ["umount", "-l", cls.disk])
        cls.store = os.path.join(cls.disk, "store")
        cls.mount = harness.Mount(cls.store, os.path.join(cls.root, "mount"))
        cls.addClassCleanup(cls.mount.discard)
        cls.mounted = [cls.mount.start()]

    def test_room_is_made_until_nothing_may_go(self):
        for number in range(20):
            publish(self.mount.path, number, 600000)
        self.assertWhole(self.mount.path, 19, 600000)
        self.assertNotIn(0, self.numbers(self.mount.path))
        self.assertEqual(harness.tacfs("pin", self.store, "/").returncode, 0)
        with self.assertRaises(OSError) as caught:
            for number in range(20, 40):
                publish(self.mount.path, number, 600000)
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        with self.assertRaises(OSError) as caught:  # who wrote half sees half
            self.agent().calls.write(os.path.join(leaf(self.mount.path, 19), "graph.om"),
                                     samples.om(99, 6 * MIB))
        self.assertEqual(caught.exception.errno, errno.ENOSPC)
        self.assertWhole(self.mount.path, 19, 600000)
        self.assertIn(f'no room in "{self.store}"', self.mount.log_text())
        self.assertEqual(harness.tacfs("unpin", self.store, "/").returncode, 0)
        self.mount.restart()  # it does not try all the time
        publish(self.mount.path, 90, 600000)
        self.assertWhole(self.mount.path, 90, 600000)
        self.assertSound()


if __name__ == "__main__":
    harness.main()
