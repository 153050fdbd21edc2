# SPDX-License-Identifier: Apache-2.0
"""However many files clients open, and however large, the daemon gets by.

It runs with 256 descriptors. TACFS_LONG=1: 100,000 open files, and one of 10 GiB.
"""
import os
import random
import re
import unittest

import calls
import harness
import many
import samples
from harness import mount_only

DESCRIPTORS = 256
PROCESSES = harness.amount(4, 8)
FILES = harness.amount(25 if harness.sanitized() else 62, 782) * 16  # a process
DIRECTORIES = harness.amount(600, 20000)
LARGE = harness.amount(160 << 20, 10 << 30)
WRITES = harness.amount(300, 20000)
MEMORY = 128 << 20
A_FILE = 4096  # what an open one takes besides


@mount_only
class Bounds(unittest.TestCase):
    def setUp(self):
        root = harness.new_directory("bounds")
        self.mount = harness.Mount(os.path.join(root, "store"),
                                   os.path.join(root, "mount"), ("collect=0",),
                                   descriptors=DESCRIPTORS)
        self.addCleanup(self.mount.discard)
        self.mount.start()
        self.root = self.mount.path

    def peak(self):
        """The most memory that the daemon has had."""
        with open(f"/proc/{self.mount.process.pid}/status") as file:
            return int(re.search(r"VmHWM:\s*(\d+) kB", file.read())[1]) << 10

    def assertSmall(self, files=0):
        if not harness.sanitized():
            self.assertLess(self.peak(), MEMORY + files * A_FILE)

    def in_each(self, function, *arguments):
        """The same in all processes at once; some have their own numbers."""
        for i, agent in enumerate(self.agents):
            own = [range(i * FILES, (i + 1) * FILES) if one == "numbers" else one
                   for one in arguments]
            agent.begin(f"many.{function}", *own)
        for agent in self.agents:
            agent.end(harness.PATIENCE * 10)

    def test_many_open_files(self):
        self.agents = [harness.Agent() for _ in range(PROCESSES)]
        for agent in self.agents:
            self.addCleanup(agent.close)
        self.in_each("write_first", self.root, "numbers")
        self.in_each("write_rest")
        self.in_each("check")
        self.in_each("close_all")
        self.in_each("open_again", self.root, "numbers")
        self.in_each("check")
        self.assertSmall(FILES * PROCESSES)
        self.in_each("close_all")
        self.mount.restart()
        for number in random.Random(1).sample(range(FILES * PROCESSES), 100):
            self.assertEqual(calls.read(many.place(self.root, number)),
                             many.content(number))
        self.mount.stop()

    def test_many_directories(self):
        """What is not looked at for long is found again all the same."""
        for i in range(DIRECTORIES):
            path = os.path.join(self.root, f"{i % 20}", f"{i}", "deep")
            os.makedirs(path)
            calls.write(os.path.join(path, "file"), b"%d" % i)
        here = os.open(os.path.join(self.root, "0"), os.O_RDONLY | os.O_DIRECTORY)
        for i in range(DIRECTORIES):
            path = os.path.join(self.root, f"{i % 20}", f"{i}")
            self.assertEqual(calls.read(os.path.join(path, "deep", "file")), b"%d" % i)
            os.rename(os.path.join(path, "deep"), os.path.join(path, "moved"))
            calls.write(os.path.join(path, "moved", "other"), b"%d" % -i)
        self.assertEqual(sorted(os.listdir(here)),
                         sorted(f"{i}" for i in range(0, DIRECTORIES, 20)))
        os.close(here)
        for i in range(DIRECTORIES):
            path = os.path.join(self.root, f"{i % 20}", f"{i}", "moved")
            self.assertEqual(calls.read(os.path.join(path, "other")), b"%d" % -i)
            os.unlink(os.path.join(path, "file"))
            os.unlink(os.path.join(path, "other"))
            os.rmdir(path)
        self.mount.stop()

    def test_a_directory_in_use_stays_when_it_is_moved(self):
        path = os.path.join(self.root, "from", "a")
        os.makedirs(path)
        calls.write(os.path.join(path, "file"), b"content")
        inside = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
        os.rename(os.path.join(self.root, "from"), os.path.join(self.root, "to"))
        for i in range(2 * DESCRIPTORS):
            os.mkdir(os.path.join(self.root, f"{i}"))
        self.assertEqual(os.listdir(inside), ["file"])
        fd = os.open("new", os.O_WRONLY | os.O_CREAT, 0o600, dir_fd=inside)
        calls.write_fd(fd, b"more")
        os.close(fd)
        os.close(inside)
        self.assertEqual(calls.read(os.path.join(self.root, "to", "a", "new")), b"more")
        self.mount.stop()

    def test_a_large_file_written_at_random(self):
        path = os.path.join(self.root, "large")
        numbers = random.Random(2)
        written = {}
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        for i in range(WRITES):
            at = numbers.randrange(LARGE // 4096) * 4096
            written[at] = samples.text(f"{i}", 4096)
            os.pwrite(fd, written[at], at)
        os.ftruncate(fd, LARGE)
        os.close(fd)
        self.assertSmall()
        self.mount.restart()
        self.assertEqual(os.stat(path).st_size, LARGE)
        with open(path, "rb", buffering=0) as file:
            for at in numbers.sample(sorted(written), 100):
                self.assertEqual(os.pread(file.fileno(), 4096, at), written[at])
        self.assertSmall()
        self.mount.stop()


harness.main()
