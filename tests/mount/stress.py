# SPDX-License-Identifier: Apache-2.0
"""Loops for agents: one writer that takes its time, and readers that never wait.

The number of the newest version whose close has returned stands in a small file
outside the mount (`counter`), so that a reader can say how old is too old.
"""
import collections
import mmap
import os
import random
import struct
import time

import calls
import samples

HELD = 8  # versions that a reader keeps open at a time


class Counter:
    def __init__(self, path):
        fd = os.open(path, os.O_RDWR | os.O_CREAT, 0o600)
        os.ftruncate(fd, 8)
        self.map = mmap.mmap(fd, 8)
        os.close(fd)

    def get(self):
        return struct.unpack("<Q", self.map[:])[0]

    def set(self, number):
        self.map[:] = struct.pack("<Q", number)


def write_slowly(path, content, chance, whole=True):
    """Truncates, then writes in pieces with pauses, and closes."""
    fd = os.open(path, os.O_WRONLY | os.O_CREAT | os.O_TRUNC, 0o600)
    pieces = chance.randint(1, 6)
    step = len(content) // pieces + 1
    end = len(content) if whole else chance.randrange(len(content))
    for start in range(0, end, step):
        time.sleep(chance.random() * 0.003)
        calls.write_fd(fd, content[start:min(start + step, end)])
    os.fchmod(fd, 0o600)
    os.close(fd)


def write_versions(path, counter, seconds, size, stop):
    """Publishes version after version; every fifth attempt stays half.

    Goes on for some seconds and versions, then makes the file `stop`. Returns
    the number of the last version.
    """
    count = Counter(counter)
    chance = random.Random(1)
    deadline = time.monotonic() + seconds
    while time.monotonic() < deadline or count.get() < calls.ENOUGH:
        number = count.get() + 1
        if chance.random() < 0.2:
            write_slowly(path, samples.module(number, size), chance, whole=False)
        write_slowly(path, samples.module(number, size), chance)
        count.set(number)
    calls.write(stop, b"")
    return count.get()


class Reader:
    def __init__(self, path, counter, size, seed):
        self.path = path
        self.counter = Counter(counter)
        self.size = size
        self.chance = random.Random(seed)
        self.held = collections.deque()
        self.reads = 0
        self.versions = set()
        self.errors = []

    def run(self, stop):
        while ((not self.reads or not os.path.exists(stop))
               and len(self.errors) < 5):
            self.read_once()
        while self.held:
            self.check_held()
        return self.reads, len(self.versions), self.errors

    def read_once(self):
        oldest = self.counter.get()
        try:
            fd = os.open(self.path, os.O_RDONLY)
        except OSError as error:
            self.errors.append(f"open: {error}")
            return
        content = self.content(fd)
        newest = self.counter.get() + 1
        number = samples.module_number(content, self.size)
        self.reads += 1
        if number is None:
            self.errors.append("expected a whole version, seen "
                               + samples.describe(content))
        elif not oldest <= number <= newest:
            self.errors.append(f"expected a version from {oldest} to {newest}, "
                               f"seen {number}")
        else:
            self.versions.add(number)
        self.hold(fd, content)

    def content(self, fd):
        """By read or by mapping, at random."""
        if self.chance.random() < 0.5:
            return calls.read_fd(fd)
        with mmap.mmap(fd, 0, prot=mmap.PROT_READ) as pages:
            return bytes(pages)

    def hold(self, fd, content):
        """Some descriptors and mappings stay open while versions pass."""
        if not content or self.chance.random() < 0.7:
            os.close(fd)
            return
        pages = mmap.mmap(fd, 0, prot=mmap.PROT_READ)
        self.held.append((fd, pages, content))
        if len(self.held) > HELD:
            self.check_held()

    def check_held(self):
        fd, pages, content = self.held.popleft()
        for way, seen in (("read", calls.read_fd(fd)), ("mmap", bytes(pages))):
            if seen != content:
                self.errors.append(f"a version kept open, by {way}: expected "
                                   f"{samples.describe(content)}, seen "
                                   f"{samples.describe(seen)}")
        pages.close()
        os.close(fd)


def read_versions(path, counter, stop, size, seed):
    """Reads until `stop` exists. Returns (reads, versions seen, errors)."""
    return Reader(path, counter, size, seed).run(stop)
