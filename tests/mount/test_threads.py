# SPDX-License-Identifier: Apache-2.0
"""Many threads of many processes do everything at once to one mount of two."""
import collections
import os

import harness
import threads
from harness import mount_only

SECONDS = harness.amount(4, 300)
PROCESSES = 8  # on the first mount,
OTHERS = 2  # and on the second,
THREADS = 4  # each with so many


@mount_only
class Threads(harness.MountTest):
    mounts = 2

    def test_everything_at_once(self):
        for name in threads.DIRECTORIES:
            os.makedirs(self.path(name))
        agents = self.agents(PROCESSES + OTHERS)
        for number, agent in enumerate(agents):
            root = self.dir if number < PROCESSES else self.other_dir
            agent.begin("threads.run", root, SECONDS, number * THREADS, THREADS)
        done, errors = collections.Counter(), []
        for agent in agents:
            counts, wrong = agent.end(SECONDS + harness.PATIENCE)
            done += counts
            errors += wrong
        print(f"\n  {sum(done.values())} operations: {dict(done)}")
        self.assertEqual(errors, [], "\n".join(errors))
        if harness.LONG:
            self.assertEqual(set(threads.KINDS), set(done))
        self.check_store()

    def check_store(self):
        for mount in self.mounted:
            mount.restart()
        done = harness.tacfs("fsck", "--read-data", self.store, timeout=600)
        self.assertEqual(done.returncode, 0, done.stdout + done.stderr)


if __name__ == "__main__":
    harness.main()
