# SPDX-License-Identifier: Apache-2.0
"""Commands that run again and again beside processes that write (collecting.py)."""
import os
import subprocess
import sys
import time

import harness

HERE = os.path.dirname(os.path.abspath(__file__))


class Loop:
    """Commands that are run in turn, again and again."""

    def __init__(self, *commands):
        self.commands = commands
        self.process = None
        self.turns = 0
        self.count = 0

    def poll(self):
        """Starts it again when it has ended; its status must be 0 or 1."""
        if self.process and self.process.poll() is None:
            return
        self.finish()
        command = self.commands[self.turns % len(self.commands)]
        self.turns += 1
        self.process = subprocess.Popen(
            [harness.binary(), *command], stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL, stderr=subprocess.PIPE)

    def finish(self):
        if not self.process:
            return
        errors = self.process.communicate(timeout=harness.PATIENCE)[1].decode()
        status = self.process.returncode
        self.process = None
        self.count += not status
        if status not in (0, 1) or any(sign in errors
                                       for sign in harness.SIGNS_OF_TROUBLE):
            raise AssertionError(f"{self.commands}: seen status {status}: {errors}")

    def kill(self):
        if self.process:
            self.process.kill()
            self.process.communicate()


def end(process):
    if process.poll() is None:
        process.kill()
    process.wait()
    process.stderr.close()


def start_writer(test, seed, seconds, journals, mounts):
    writer = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "collecting.py"), str(seed), str(seconds),
         journals, *mounts], stdin=subprocess.DEVNULL, stderr=subprocess.PIPE)
    test.addCleanup(end, writer)
    return writer


def run_while_writing(test, writers, seconds, journals, mounts, commands):
    """How often each of the lists of commands had something to do."""
    writers = [start_writer(test, seed, seconds, journals, mounts)
               for seed in range(writers)]
    loops = [Loop(*some) for some in commands]
    for loop in loops:
        test.addCleanup(loop.kill)
    while any(writer.poll() is None for writer in writers):
        for loop in loops:
            loop.poll()
        time.sleep(0.02)
    for loop in loops:
        loop.finish()
    for writer in writers:
        errors = writer.communicate()[1].decode("utf-8", "replace")
        test.assertEqual(writer.returncode, 0, errors)
    return [loop.count for loop in loops]
