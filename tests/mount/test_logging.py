# SPDX-License-Identifier: Apache-2.0
"""What a mount logs: a line an event, not too many, to stderr or to syslog."""
import os
import re
import socket
import unittest

import calls
import harness
import samples
import supervisor
from harness import mount_only

ODD = "odd\n\x1b[31m name"
ODD_SHOWN = r"odd\x0a\x1b[31m name"
SECRET = "nobody-is-to-read-this"

# A /dev of its own, with a log that we read.
PRIVATE = """
    dev=$1; shift
    for name in fuse null zero urandom; do
        : >"$dev/$name" && mount --bind "/dev/$name" "$dev/$name" || exit 1
    done
    mount --rbind "$dev" /dev && exec "$@"
"""


@mount_only
class Logging(unittest.TestCase):
    def setUp(self):
        self.root = harness.new_directory(self._testMethodName)
        self.store = os.path.join(self.root, "store")
        self.point = os.path.join(self.root, "point")

    def test_many_events_are_few_lines(self):
        mount = harness.Mount(self.store, self.point)
        self.addCleanup(mount.discard)
        mount.start()
        count = 120
        directory = os.path.join(self.point, ODD)
        os.mkdir(directory)
        for number in range(count):
            calls.write(os.path.join(directory, f"{number}.om"),
                        samples.om(number, 2000) + SECRET.encode() * 3)
        mount.stop()
        lines = mount.log_text().splitlines()
        told = [line for line in lines if line.startswith(
            f'tacfs: warning: not published "{ODD_SHOWN}/')]
        left_out = re.findall(r"\(and (\d+) like this before|: (\d+) more were left out",
                              mount.log_text())
        self.assertGreaterEqual(len(told), 20)
        self.assertLess(len(told), count)
        self.assertEqual(len(told) + sum(int(a or b) for a, b in left_out), count)
        self.assertIn(f'"{ODD_SHOWN}/0.om"', told[0])
        self.assertNotIn(SECRET, mount.log_text())

    def in_private_dev(self):
        """Another process, and what is written to its /dev/log."""
        dev = os.path.join(self.root, "dev")
        os.mkdir(dev)
        log = socket.socket(socket.AF_UNIX, socket.SOCK_DGRAM)
        self.addCleanup(log.close)
        log.settimeout(harness.PATIENCE)
        log.bind(os.path.join(dev, "log"))
        agent = harness.Agent(["unshare", "-m", "--propagation", "private",
                               harness.LET_GO, "sh", "-c", PRIVATE, "sh", dev])
        self.addCleanup(agent.close)
        return agent, log

    def wait_for_daemons(self):
        name = os.path.basename(harness.binary())[:15]
        harness.wait_until(
            lambda: not [pid for pid in supervisor.descendants(os.getppid())
                         if supervisor.name_of(pid) == name],
            "the daemon to end after its mount")

    @unittest.skipUnless(os.getuid() == 0, "needs a /dev of its own")
    def test_syslog(self):
        agent, log = self.in_private_dev()
        os.mkdir(self.point)
        agent.calls.run_command([harness.binary(), "mount", self.store, self.point])
        agent.os.mkdir(os.path.join(self.point, ODD))
        agent.calls.write(os.path.join(self.point, ODD, "compiled_module"),
                          samples.half(samples.module(1)) + SECRET.encode() * 3)
        line = log.recv(4096).decode()
        daemon_warning = 3 * 8 + 4
        self.assertRegex(line, rf"^<{daemon_warning}>.* tacfs\[\d+\]: not published "
                         + re.escape(f'"{ODD_SHOWN}/compiled_module": '))
        self.assertNotIn("\n", line)
        self.assertNotIn(SECRET, line)
        agent.calls.run_command(["fusermount3", "-u", self.point])
        self.wait_for_daemons()


if __name__ == "__main__":
    harness.main()
