# SPDX-License-Identifier: Apache-2.0
"""Random openings, writes and closings of one artifact by several processes.

The model is the promise: a version is its writer's alone until he closes it, and is
then published if it is whole; everybody else gets the last published one, and keeps
what he has open.
"""
import errno
import os
import pickletools
import random

import harness
import samples

WRITE_FLAGS = [os.O_WRONLY | os.O_CREAT | os.O_TRUNC, os.O_RDWR | os.O_TRUNC,
               os.O_WRONLY | os.O_CREAT | os.O_EXCL, os.O_RDWR,
               os.O_WRONLY | os.O_CREAT | os.O_APPEND]
SIZE = 3000


def attempt(call, *arguments):
    """The result, or the name of the errno."""
    try:
        return call(*arguments)
    except OSError as error:
        return errno.errorcode[error.errno]


class Writer:
    """A process that may be writing a version of its own."""

    def __init__(self, path):
        self.path = path
        self.agent = harness.Agent()
        self.fd = None       # open for writing
        self.content = None  # what that shows
        self.dirty = False
        self.kept = False    # it has closed a version that is not whole
        self.appends = False
        self.goal = 0        # the number of the module that it is to become


class Reader:
    """A process that reads, and may keep something open."""

    def __init__(self, path):
        self.path = path
        self.agent = harness.Agent()
        self.fd = None
        self.content = None


class Run:
    def __init__(self, seed, directory, other_directory):
        self.random = random.Random(seed)
        self.seed = seed
        self.log = []
        self.published = None
        self.paths = [os.path.join(path, "compiled_module")
                      for path in (directory, other_directory)]
        self.writers = [self.new_writer() for _ in range(3)]
        self.readers = [Reader(path) for path in self.paths]

    def __enter__(self):
        return self

    def __exit__(self, *_error):
        for process in self.writers + self.readers:
            process.agent.close()

    def new_writer(self):
        return Writer(self.random.choice(self.paths))

    def expect(self, seen, expected):
        if seen != expected:
            last = "\n  ".join(self.log[-30:])
            raise AssertionError(
                f"TACFS_SEED={self.seed}, step {len(self.log)}: expected "
                f"{show(expected)}, seen {show(seen)}\n  {last}")

    def note(self, process, what):
        number = (self.writers + self.readers).index(process)
        self.log.append(f"process {number}: {what}")

    def steps(self, count):
        choices = [(self.begin, 10), (self.write, 20), (self.close, 8),
                   (self.read, 8), (self.hold, 3), (self.read_held, 6),
                   (self.read_own, 5), (self.sync, 1), (self.unlink, 0.5),
                   (self.kill, 0.5), (self.replace, 1)]
        calls, weights = zip(*choices)
        for call in self.random.choices(calls, weights, k=count):
            call(self.random.choice(
                self.readers if call in (self.read, self.hold, self.read_held)
                else self.writers))
        for writer in self.writers:
            self.close(writer)
        for reader in self.readers:
            self.read(reader)

    # writers

    def begin(self, writer):
        flags = self.random.choice(WRITE_FLAGS)
        if writer.fd is not None or (writer.kept and not flags & os.O_TRUNC):
            return
        self.note(writer, f"open with {flags:#o}")
        exists = self.published is not None or writer.kept
        fd = attempt(writer.agent.os.open, writer.path, flags, 0o600)
        if not exists and not flags & os.O_CREAT:
            self.expect(fd, "ENOENT")
        elif exists and flags & os.O_EXCL:
            self.expect(fd, "EEXIST")
        else:
            self.expect(type(fd), int)
            empty = not exists or flags & os.O_TRUNC
            writer.fd, writer.kept = fd, False
            writer.content = bytearray() if empty else bytearray(self.published)
            writer.dirty = bool(empty)
            writer.appends = bool(flags & os.O_APPEND)
            writer.goal = self.random.randrange(9)

    def write(self, writer):
        """The next part of a module, all that is left of it, or rubbish."""
        if writer.fd is None:
            return
        at = len(writer.content)
        if not writer.appends and self.random.random() < 0.2:
            at = self.random.randrange(at + 1)
        data = samples.module(writer.goal, SIZE)[at:]
        if not data and self.random.random() < 0.8:
            self.close(writer)
            return
        data = data or b"rubbish"
        if self.random.random() < 0.4:
            data = data[:self.random.randrange(len(data)) + 1]
        self.note(writer, f"write {len(data)} bytes at {at}")
        self.expect(attempt(writer.agent.os.pwrite, writer.fd, data, at), len(data))
        writer.content[at:at + len(data)] = data
        writer.dirty = True

    def close(self, writer):
        if writer.fd is None:
            return
        whole = is_whole(bytes(writer.content))
        self.note(writer, f"close what is {'whole' if whole else 'not whole'}")
        self.expect(attempt(writer.agent.os.close, writer.fd), None)
        writer.fd = None
        if writer.dirty and whole:
            self.published = bytes(writer.content)
        writer.kept = writer.dirty and not whole

    def read_own(self, writer):
        """What he is writing; what he has left half-written is nobody's business."""
        if writer.kept:
            return
        self.note(writer, "read")
        expected = self.published if writer.fd is None else bytes(writer.content)
        self.expect(look(writer), expected)

    def sync(self, writer):
        if writer.fd is not None:
            self.note(writer, "fsync")
            self.expect(attempt(writer.agent.os.fsync, writer.fd), None)

    def unlink(self, writer):
        if writer.fd is not None or writer.kept:
            return
        self.note(writer, "unlink")
        self.expect(attempt(writer.agent.os.unlink, writer.path),
                    "ENOENT" if self.published is None else None)
        self.published = None

    def kill(self, writer):
        if writer.fd is None:
            return
        self.note(writer, "is killed")
        writer.agent.kill()
        self.writers[self.writers.index(writer)] = self.new_writer()

    def replace(self, writer):
        """By renaming, as editors do."""
        if writer.fd is not None or writer.kept:
            return
        content = samples.module(self.random.randrange(9), SIZE)
        self.note(writer, "rename another file over it")
        new = os.path.join(os.path.dirname(writer.path), "new")
        writer.agent.calls.write(new, content)
        self.expect(attempt(writer.agent.os.rename, new, writer.path), None)
        self.published = content

    # readers

    def read(self, reader):
        self.note(reader, "read")
        self.expect(look(reader), self.published)

    def hold(self, reader):
        if reader.fd is not None:
            self.note(reader, "close what it keeps open")
            reader.agent.os.close(reader.fd)
            reader.fd = None
        if self.published is not None:
            self.note(reader, "open, to keep it")
            reader.fd = attempt(reader.agent.os.open, reader.path, os.O_RDONLY)
            self.expect(type(reader.fd), int)
            reader.content = self.published

    def read_held(self, reader):
        if reader.fd is not None:
            self.note(reader, "read what it keeps open")
            self.expect(attempt(reader.agent.calls.read_fd, reader.fd),
                        reader.content)


def look(process):
    """The content; None when there is nothing."""
    kind, seen = process.agent.calls.look(process.path)
    if kind == "bytes":
        return seen
    return None if seen == errno.ENOENT else errno.errorcode[seen]


def is_whole(content):
    """A pickle, to its end and no further; also when it is a mixture of two."""
    try:
        *_, (_, _, end) = pickletools.genops(content)
    except ValueError:
        return False
    return end == len(content) - 1


def show(value):
    return samples.describe(value) if isinstance(value, bytes) else repr(value)
