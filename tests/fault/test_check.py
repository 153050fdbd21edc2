# SPDX-License-Identifier: Apache-2.0
"""tacfs fsck beside mounts that write: it finds nothing, for nothing is wrong."""
import os
import shutil
import subprocess
import sys
import time

HERE = os.path.dirname(os.path.abspath(__file__))
sys.path.insert(0, os.path.join(HERE, "..", "mount"))
sys.path.insert(0, HERE)

import calls  # noqa: E402
import harness  # noqa: E402
import samples  # noqa: E402
from harness import mount_only, tacfs  # noqa: E402

SECONDS = harness.amount(20, 600)
WRITERS = 2


@mount_only
class Beside(harness.MountTest):
    mounts = 2

    def start_writer(self, number):
        directory = os.path.join(self.mounted[number % 2].path, f"writer{number}")
        os.makedirs(directory)
        writer = subprocess.Popen(
            [sys.executable, os.path.join(HERE, "load.py"), directory,
             os.path.join(self.root, f"journal{number}"), str(number)],
            stdin=subprocess.DEVNULL)
        self.addCleanup(end, writer)
        return writer

    def come_and_go(self, number):
        """A tree appears and is removed, as at the start of a job."""
        tree = self.path(f"tree{number}")
        os.makedirs(os.path.join(tree, "prompt"))
        calls.save(os.path.join(tree, "prompt", "compiled_module"),
                   samples.module(number, 30000))
        if number % 2:
            shutil.rmtree(tree)

    def test_a_store_in_use_is_clean(self):
        writers = [self.start_writer(number) for number in range(WRITERS)]
        deadline = time.monotonic() + SECONDS
        options = [(), ("--read-data",), ("--repair",),
                   ("--repair", "--read-data")]
        runs = 0
        while time.monotonic() < deadline or runs < len(options):
            self.come_and_go(runs)
            done = tacfs("fsck", *options[runs % len(options)], self.store)
            self.assertEqual((done.returncode, done.stderr), (0, b""),
                             done.stdout.decode())
            runs += 1
        for writer in writers:
            self.assertIsNone(writer.poll(), "expected the writers to go on")
            end(writer)
        print(f"\n  {runs} checks")


def end(process):
    if process.poll() is None:
        process.kill()
        process.wait()


if __name__ == "__main__":
    harness.main()
