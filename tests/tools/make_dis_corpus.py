#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""make_dis_corpus.py X.Y FILE OUT: the marshalled code object in FILE, which
Python X.Y wrote, as a recipe for fuzz_dis (tests/fuzz/code_recipe.h). Names are
lost, and whatever does not fit in a recipe is cut off."""
import struct
import sys

ATOMS = b'NTFS.'
(INT, LONG, FLOAT, COMPLEX, ASCII, UNICODE, BYTES, TUPLE, FROZENSET,
 LONG_FROZENSET, OTHER, DICT, SLICE, CODE) = range(1, 15)


class Marshal:
    """Reads values as recipes of constants; bytes and tuples as they are, since
    the fields of a code object are made of them."""

    def __init__(self, data, is_new):
        self.data, self.at, self.refs, self.is_new = data, 0, [], is_new

    def take(self, size):
        self.at += size
        return self.data[self.at - size:self.at]

    def i32(self):
        return struct.unpack('<i', self.take(4))[0]

    def value(self):
        byte = self.take(1)[0]
        kind, number = chr(byte & 0x7f), None
        if byte & 0x80 and kind not in 'NTFS.0r':
            number = len(self.refs)
            self.refs.append(None)
        value = self.body(kind)
        if number is not None:
            self.refs[number] = value
        return value

    def body(self, kind):
        if kind == '0':
            return None
        if kind.encode() in ATOMS:
            return bytes([ATOMS.index(kind.encode()) << 4])
        if kind == 'r':
            return self.refs[self.i32()]
        if kind == 'i':
            return bytes([INT]) + self.take(4)
        if kind == 'l':
            return self.long(self.i32())
        if kind in 'gy':
            return bytes([FLOAT if kind == 'g' else COMPLEX]) + \
                self.take(8 if kind == 'g' else 16)
        if kind in 'zZaAut':
            size = self.take(1)[0] if kind in 'zZ' else self.i32()
            return self.text(self.take(size))
        if kind == 's':
            return ('bytes', self.take(self.i32()))
        if kind in '()<>[':
            count = self.take(1)[0] if kind == ')' else self.i32()
            return (kind, [self.value() for _ in range(count)])
        if kind == '{':
            return (kind, list(iter(self.value, None)))
        if kind == ':':
            return (kind, [self.value() for _ in range(3)])
        assert kind == 'c', kind
        return bytes([CODE]) + self.code()

    def long(self, n):
        count = min(abs(n), 255)
        return bytes([LONG | (n < 0) << 4, count]) + \
            self.take(2 * abs(n))[:2 * count]

    @staticmethod
    def text(utf8):
        points = [ord(c) for c in utf8.decode('utf-8', 'surrogatepass')][:255]
        if max(points, default=0) < 0x80:
            return bytes([ASCII, len(points)]) + bytes(points)
        plane = max(points) >> 16
        return bytes([UNICODE | min(plane, 7) << 4, len(points)]) + b''.join(
            struct.pack('<H', p & 0xffff) for p in points)

    def code(self):
        arguments, _, keyword_only = self.i32(), self.i32(), self.i32()
        if not self.is_new:
            self.i32()
        self.i32()
        flags, (_, code) = self.i32(), self.value()
        consts, names, places = (self.value()[1] for _ in range(3))
        if self.is_new:
            counts, kinds = split(self.value()[1])
        else:
            frees, cells = self.value()[1], self.value()[1]
            counts, kinds = [len(places), len(cells), len(frees)], b''
        for _ in range(3 if self.is_new else 2):
            self.value()
        line, lines, handlers = self.i32(), self.value()[1], b''
        if self.is_new:
            handlers = self.value()[1]
        return struct.pack('<BBII6B', arguments, keyword_only,
                           flags & 0xffffffff, line & 0xffffffff, len(consts),
                           len(names), *counts, 2) + \
            b''.join(struct.pack('<H', len(part)) + part
                     for part in (code, lines, handlers)) + \
            (kinds or bytes(sum(counts))) + b''.join(map(constant, consts))


def split(kinds):
    """Counts of locals, cells and free variables, and how kinds differ from
    what these imply."""
    usual = [next(k for k in (0x20, 0x40, 0x80) if kind & k) for kind in kinds]
    assert usual == sorted(usual)
    return ([usual.count(k) for k in (0x20, 0x40, 0x80)],
            bytes(a ^ b for a, b in zip(kinds, usual)))


def constant(value):
    if isinstance(value, bytes):
        return value
    kind, items = value
    if kind == 'bytes':
        return bytes([BYTES, min(len(items), 255)]) + items[:255]
    parts = list(map(constant, items))
    if kind == ':':
        return bytes([SLICE]) + b''.join(parts)
    if kind == '>' and len(parts) > 7:
        return bytes([LONG_FROZENSET, len(parts)]) + b''.join(parts)
    if kind in '([)>':
        parts = parts[:7]
        return bytes([(FROZENSET if kind == '>' else TUPLE) |
                      len(parts) << 4]) + b''.join(parts)
    if kind == '{':
        parts = parts[:14]
        return bytes([DICT | len(parts) // 2 << 4]) + b''.join(parts)
    parts = parts[:3]
    return bytes([OTHER | (kind == '[') << 4 | len(parts) << 5]) + b''.join(parts)


def main():
    python, source, out = sys.argv[1:]
    minor = int(python.split('.')[1])
    with open(source, 'rb') as file:
        marshal = Marshal(file.read(), minor >= 11)
    recipe = bytes([minor - 8]) + marshal.value()[1:]
    with open(out, 'wb') as file:
        file.write(recipe)


main()
