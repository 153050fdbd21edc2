# SPDX-License-Identifier: Apache-2.0
"""Mounts of one store in containers: pid, mount and uts namespaces of their own.

In each, tacfs is process 1 on a host of the same name, and the processes beside it
have the same ids as those of the other.
"""
import json
import os
import shutil
import signal
import subprocess
import sys
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only

APART = ["unshare", "--pid", "--mount-proc", "--uts", "--ipc", "--fork",
         "--kill-child"]


def can_unshare():
    if not shutil.which("unshare") or not shutil.which("nsenter"):
        return False
    return subprocess.run([*APART, "true"], capture_output=True).returncode == 0


class Container(harness.Mount):
    """A mount in namespaces of its own; `process` is unshare's."""
    refusal = None  # what the last unmount said

    def command(self):
        return [*APART, harness.LET_GO, "sh", "-c", 'hostname worker && exec "$@"', "sh",
                *super().command()]

    @property
    def pid(self):
        """Of the process that is 1 inside."""
        inside = supervisor.children(self.process.pid)
        return inside[0] if inside else None

    def enter(self):
        return ["nsenter", "-t", str(self.pid), "--mount", "--pid", "--uts", "--ipc"]

    def from_outside(self, *parts):
        """A path by which a process of no container reaches the mount."""
        return os.path.join(f"/proc/{self.pid}/root{self.path}", *parts)

    def is_mounted(self):
        text = supervisor.read_text(f"/proc/{self.pid}/mounts") if self.pid else ""
        return f" {self.path} fuse.tacfs " in text

    def answers(self):
        if self.process.poll() is not None:
            raise AssertionError(f"seen exit status {self.process.returncode}: "
                                 f"{self.log_text()}")
        return self.is_mounted() and os.path.isdir(self.from_outside())

    def unmount(self):
        done = subprocess.run([*self.enter(), "fusermount3", "-u", self.path],
                              capture_output=True, timeout=harness.PATIENCE)
        if done.returncode and done.stderr != self.refusal:
            print(done.stderr.decode(), file=sys.stderr)
            self.refusal = done.stderr
        return done.returncode == 0

    def discard(self):
        """The namespaces, with what is mounted there, end with their process 1."""
        if self.process and self.process.poll() is None and self.pid:
            supervisor.kill(self.pid)
            self.process.wait(harness.PATIENCE)
        super().discard()


@mount_only
@unittest.skipUnless(can_unshare(), "needs to make namespaces")
class Containers(harness.MountTest):
    @classmethod
    def setUpClass(cls):
        cls.root = harness.new_directory(cls.__name__)
        cls.store = os.path.join(cls.root, "store")
        cls.mounted = []
        for name in "one", "two":
            # At the same path, too.
            container = Container(cls.store, os.path.join(cls.root, "mount"))
            cls.addClassCleanup(container.discard)
            cls.mounted.append(container.start())
        cls.mount, cls.other = cls.mounted

    def setUp(self):
        self.one, self.two = (harness.Agent(container.enter())
                              for container in self.mounted)
        for agent in self.one, self.two:
            self.addCleanup(agent.close)
        self.dir = os.path.join(self.mount.path, self._testMethodName)
        self.one.os.mkdir(self.dir)

    def test_they_are_alike(self):
        """Else nothing is tested here."""
        self.assertEqual(self.one.os.uname(), self.two.os.uname())
        for agent in self.one, self.two:
            self.assertEqual(
                agent.calls.read("/proc/1/comm").strip(), b"tacfs")

    def test_publishing(self):
        path = self.path("model", "compiled_module")
        for seed, (writer, reader) in enumerate(2 * ((self.one, self.two),
                                                     (self.two, self.one))):
            writer.calls.save(path, samples.module(seed))
            self.assertContent(path, samples.module(seed), by=reader.calls)
            self.assertContent(path, samples.module(seed), by=writer.calls)
        self.two.shutil.rmtree(os.path.dirname(path))
        self.assertMissing(path, by=self.one.calls)

    def test_a_version_is_its_writers_until_it_is_closed(self):
        path = self.path("compiled_module")
        self.two.calls.save(path, samples.module(1))
        fds = [agent.calls.begin(path, samples.module(seed))
               for agent, seed in ((self.one, 2), (self.two, 3))]
        reader = harness.Agent(self.mount.enter())
        self.addCleanup(reader.close)
        self.assertContent(path, samples.module(1), by=reader.calls)
        self.assertContent(path, samples.module(2), by=self.one.calls)
        self.assertContent(path, samples.module(3), by=self.two.calls)
        for agent, fd, seed in zip((self.one, self.two), fds, (2, 3)):
            agent.os.close(fd)
            self.assertContent(path, samples.module(seed), by=reader.calls)

    def test_a_killed_writer_publishes_nothing(self):
        path = self.path("compiled_module")
        writer = harness.Agent(self.mount.enter())
        writer.calls.begin(path, samples.module(1))
        self.two.calls.save(path, samples.module(2))
        writer.last("calls.die", signal.SIGTERM)
        self.assertContent(path, samples.module(2), by=self.two.calls)

    def test_exclusive_creation(self):
        names = [f"{number}.lock" for number in range(40)]
        agents = self.one, self.two
        for agent in agents:
            agent.begin("calls.create_exclusively", self.dir, names)
        won = [agent.end() for agent in agents]
        self.assertEqual(sorted(sum(won, [])), sorted(names))

    def test_a_client_of_no_container(self):
        """The mount does not know its id: 0. It publishes at its close."""
        path = self.path("compiled_module")
        outside = os.path.join(self.mount.from_outside(self._testMethodName),
                               "compiled_module")
        for seed in range(2):
            calls.save(outside, samples.module(seed))
            self.assertContent(path, samples.module(seed), by=self.two.calls)
            self.assertContent(outside, samples.module(seed))
        fd = calls.begin(outside, samples.module(5))
        self.assertContent(path, samples.module(1), by=self.one.calls)
        self.assertContent(path, samples.module(1), by=self.two.calls)
        os.close(fd)
        self.assertContent(path, samples.module(5), by=self.one.calls)

    def test_each_has_a_report_of_its_own(self):
        def told():
            done = harness.tacfs("stats", "--json", self.store)
            return json.loads(done.stdout)["live"]

        harness.wait_until(lambda: told()["active"] == 2, "both to report")
        self.assertEqual(told()["mounts"], 2)


if __name__ == "__main__":
    harness.main()
