# SPDX-License-Identifier: Apache-2.0
"""How a mount ends: by a signal, by kill -9, and two mounts for one place."""
import os
import signal
import subprocess
import sys
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only

# Writes artifacts until that fails, and says which were closed without an error.
WRITER = """
import os, sys
import calls, samples
for number in range(1000000):
    try:
        calls.write(sys.argv[1], samples.module(number))
    except OSError:
        break
    print(number, flush=True)
"""


@mount_only
class Ending(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "point")

    def mount(self, *options):
        mount = harness.Mount(self.store, self.point, options)
        self.addCleanup(mount.discard)
        mount.start()
        os.makedirs(os.path.join(self.point, "m"), exist_ok=True)
        return mount

    def path(self, name):
        return os.path.join(self.point, "m", name)

    def agent(self):
        agent = harness.Agent()
        self.addCleanup(agent.close)
        return agent

    def assertEndsWell(self, mount):
        status = mount.wait()
        self.assertEqual(status, 0, f"expected 0, seen {status}: {mount.log_text()}")
        mount.check_log()

    def wait_until_free(self, mount):
        harness.wait_until(lambda: not mount.is_mounted(),
                           "nothing mounted after the signal")

    def test_signals(self):
        for number in signal.SIGTERM, signal.SIGINT, signal.SIGHUP:
            with self.subTest(signal=number.name):
                mount = self.mount()
                calls.write(self.path("compiled_module"), samples.module(number))
                calls.write(self.path("plain"), str(number).encode())
                mount.process.send_signal(number)
                self.assertEndsWell(mount)
                self.assertFalse(mount.is_mounted())
                self.assertEqual(mount.log_text(), "", "expected no complaint")
                mount = self.mount()
                self.assertEqual(calls.read(self.path("compiled_module")),
                                 samples.module(number))
                self.assertEqual(calls.read(self.path("plain")), str(number).encode())
                mount.stop()

    def test_what_is_open_is_said(self):
        mount = self.mount()
        writer, reader = self.agent(), self.agent()
        calls.write(self.path("closed.om"), samples.om(1, 9000))
        calls.write(self.path("compiled_module"), samples.module(1))
        writer.calls.begin(self.path("compiled_module"), samples.half(samples.module(2)))
        writer.calls.begin(self.path("a\nb"), b"so far")
        reader.os.open(self.path("closed.om"), os.O_RDONLY)
        reader.os.chdir(self.point)
        writer.process.send_signal(signal.SIGSTOP)
        mount.process.terminate()
        self.wait_until_free(mount)
        self.assertEndsWell(mount)
        writer.process.send_signal(signal.SIGCONT)
        self.assertEqual(sorted(mount.log_text().splitlines()), [
            'tacfs: warning: "m/a\\x0ab" is published as it is: the mount ended '
            'before its writer',
            'tacfs: warning: not published "m/compiled_module": the mount ended '
            'before its writer'])
        self.mount()
        self.assertEqual(calls.read(self.path("compiled_module")), samples.module(1))
        self.assertEqual(calls.read(self.path("closed.om")), samples.om(1, 9000))
        self.assertEqual(calls.read(self.path("a\nb")), b"so far")

    def test_what_is_closed_soon_is_published(self):
        """Also when another mount is there by then, which stays."""
        mount = self.mount()
        writer = self.agent()
        fd = writer.calls.begin(self.path("compiled_module"), samples.module(1))
        mount.process.terminate()
        self.wait_until_free(mount)
        writer.os.close(fd)
        second = self.mount()
        self.assertEndsWell(mount)
        self.assertEqual(mount.log_text(), "")
        self.assertEqual(calls.read(self.path("compiled_module")), samples.module(1))
        second.stop()

    def test_second_signal(self):
        """It ends the wait; a mount that has followed stays."""
        mount = self.mount()
        writer = self.agent()
        writer.calls.begin(self.path("compiled_module"), b"half")
        mount.process.terminate()
        self.wait_until_free(mount)
        second = self.mount()
        mount.process.terminate()
        self.assertEndsWell(mount)
        calls.write(self.path("compiled_module"), samples.module(2))
        self.assertIn('not published "m/compiled_module"', mount.log_text())
        second.stop()

    def test_while_writers_write(self):
        mount = self.mount()
        paths = [os.path.join(self.point, f"m{number}", "compiled_module")
                 for number in range(6)]
        for path in paths:
            os.makedirs(os.path.dirname(path), exist_ok=True)
        writers = [subprocess.Popen(
            [sys.executable, "-c", WRITER, path], stdout=subprocess.PIPE, bufsize=0,
            env={**os.environ, "PYTHONPATH": harness.HERE}) for path in paths]
        for writer in writers:
            self.addCleanup(writer.stdout.close)
            self.assertEqual(writer.stdout.readline(), b"0\n")
        mount.process.terminate()
        self.assertEndsWell(mount)
        closed = [int(([b"0"] + writer.stdout.readlines())[-1])
                  for writer in writers]
        for writer in writers:
            writer.wait(harness.PATIENCE)
        self.mount()
        for path, number in zip(paths, closed):
            seen = samples.module_number(calls.read(path))
            self.assertIn(seen, (number, number + 1),
                          f"{harness.short(path)}: expected what was closed last")

    def test_auto_unmount(self):
        mount = self.mount("auto_unmount")
        calls.write(self.path("compiled_module"), samples.module(1))
        fd = os.open(self.path("compiled_module"), os.O_RDONLY)
        self.addCleanup(calls.close_quietly, fd)
        mount.process.kill()
        mount.process.wait()
        self.wait_until_free(mount)
        mount = self.mount("auto_unmount")
        self.assertEqual(calls.read(self.path("compiled_module")), samples.module(1))
        mount.process.terminate()
        self.assertEndsWell(mount)
        self.assertFalse(mount.is_mounted())

    def test_two_at_the_same_moment(self):
        os.mkdir(self.point)
        command = [harness.binary(), "mount", self.store, self.point]
        done = harness.run_parallel([command] * 5)
        self.addCleanup(supervisor.unmount_lazily, self.point)
        self.assertEqual(sorted(status for status, _ in done), [0, 1, 1, 1, 1], done)
        for status, said in done:
            self.assertEqual(said, status * f"tacfs: mount: {self.point}: {self.store} "
                             "is mounted there already; unmount that first\n")
        self.assertEqual(supervisor.mounts_below(self.point),
                         [(self.point, "fuse.tacfs")])
        subprocess.run(["fusermount3", "-u", self.point], check=True)
        self.assertEqual(os.listdir(self.point), [])


if __name__ == "__main__":
    harness.main()
