# SPDX-License-Identifier: Apache-2.0
"""Commands that run again and again beside processes that write (collecting.py)."""
import os
import subprocess
import sys
import time

import harness

PATIENCE = 3 * harness.PATIENCE  # with sanitizers a collection takes a while
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
    if process.stdin:
        process.stdin.close()
    process.stderr.close()


def start_writer(test, seed, journals, mounts):
    writer = subprocess.Popen(
        [sys.executable, os.path.join(HERE, "collecting.py"), str(seed), journals,
         *mounts], stdin=subprocess.PIPE, stderr=subprocess.PIPE)
    test.addCleanup(end, writer)
    return writer


def errors_of(writer):
    return writer.stderr.read().decode("utf-8", "replace")


def turn(loops, writers):
    """Fails when a writer has ended: they go on until they are told."""
    for loop in loops:
        loop.poll()
    for writer in writers:
        if writer.poll() is not None:
            raise AssertionError(f"seen a writer end: {errors_of(writer)}")
    time.sleep(0.02)


def run_while_writing(test, writers, seconds, journals, mounts, commands):
    """How often each of the lists of commands had something to do.

    `commands` has pairs: a list, and how often it is to be of use at least. Until
    then it goes on, as it does for `seconds`.
    """
    writers = [start_writer(test, seed, journals, mounts) for seed in range(writers)]
    loops = [Loop(*some) for some, _ in commands]
    for loop in loops:
        test.addCleanup(loop.kill)
    ready = time.monotonic() + seconds
    while (time.monotonic() < ready or
           any(loop.count < least for loop, (_, least) in zip(loops, commands))):
        if time.monotonic() > ready + PATIENCE:
            raise AssertionError("expected each command to be of use, seen "
                                 f"{[loop.count for loop in loops]}")
        turn(loops, writers)
    for writer in writers:
        writer.stdin.close()
    for loop in loops:
        loop.finish()
    for writer in writers:
        errors = errors_of(writer)
        test.assertEqual(writer.wait(harness.PATIENCE), 0, errors)
    return [loop.count for loop in loops]
