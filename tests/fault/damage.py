# SPDX-License-Identifier: Apache-2.0
"""Damages files of a store, one at a time, and puts them back."""
import os
import random

import calls
import samples


class Snapshot:
    """The packs and manifests of a store as they are now."""

    PARTS = ("packs", "refs")

    def __init__(self, store):
        self.store = store
        self.files = {path: (calls.read(path), os.stat(path).st_mode & 0o7777)
                      for path in self.paths()}

    def paths(self):
        found = []
        for part in self.PARTS:
            root = os.path.join(self.store, part)
            found += [os.path.join(root, path) for path in samples.files_below(root)]
        return found

    def restore(self):
        """Every file as it was, and no other beside them."""
        for path in self.paths():
            if path not in self.files:
                os.unlink(path)
        for path, (content, mode) in self.files.items():
            if not same(path, content):
                put_back(path, content, mode)

    def packs(self):
        return [path for path in self.files
                if path.startswith(os.path.join(self.store, "packs"))]


def same(path, content):
    try:
        return calls.read(path) == content
    except OSError:
        return False


def put_back(path, content, mode):
    os.makedirs(os.path.dirname(path), exist_ok=True)
    temporary = os.path.join(os.path.dirname(os.path.dirname(path)), ".put-back")
    calls.write(temporary, content)
    os.chmod(temporary, mode)
    os.rename(temporary, path)


def changed(path, act):
    """Acts on a file in place, so that its ctime differs afterwards."""
    before = os.stat(path).st_ctime_ns
    mode = os.stat(path).st_mode & 0o7777
    os.chmod(path, mode | 0o200)
    act(path)
    os.chmod(path, mode)
    while os.stat(path).st_ctime_ns == before:
        os.chmod(path, mode)


def overwrite(path, offset, content):
    fd = os.open(path, os.O_WRONLY)
    os.pwrite(fd, content, offset)
    os.close(fd)


class Flip:
    """One byte becomes another."""

    def __init__(self, offset, mask):
        self.offset = offset
        self.mask = mask

    def __str__(self):
        return f"byte {self.offset} xor {self.mask:#04x}"

    def apply(self, path):
        with open(path, "rb") as file:
            file.seek(self.offset)
            byte = file.read(1)[0] ^ self.mask
        changed(path, lambda p: overwrite(p, self.offset, bytes([byte])))


class Act:
    """Any other damage, by name."""

    def __init__(self, name, act, in_place=True):
        self.name = name
        self.act = act
        self.in_place = in_place

    def __str__(self):
        return self.name

    def apply(self, path):
        if self.in_place:
            changed(path, self.act)
        else:
            self.act(path)


def flips(size, count, seed):
    """`count` flips over a file of `size` bytes; each byte before any twice."""
    chance = random.Random(seed)
    offsets = []
    while len(offsets) < count:
        offsets += chance.sample(range(size), min(size, count - len(offsets)))
    return [Flip(offset, chance.choice((1, 0x80, chance.randrange(1, 256))))
            for offset in offsets]


def wholesale(size):
    """Truncated, emptied, extended, zeroed, deleted."""
    cuts = sorted({0, 1, size // 2, size - 1})
    acts = [Act(f"cut to {cut} bytes", lambda path, cut=cut: os.truncate(path, cut))
            for cut in cuts]
    acts.append(Act("one byte appended", lambda path: calls.append(path, b"\0")))
    acts.append(Act("4096 bytes appended",
                    lambda path: calls.append(path, b"x" * 4096)))
    acts.append(Act("all zeros", lambda path: overwrite(path, 0, b"\0" * size)))
    acts.append(Act("a zeroed part", lambda path: overwrite(
        path, size // 3, b"\0" * min(512, size // 2))))
    acts.append(Act("deleted", os.unlink, in_place=False))
    return acts
