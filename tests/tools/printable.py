#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints printable.inc with what the Python that runs this adds to it.

    python3.15 tests/tools/printable.py >new.inc && mv new.inc \\
        compiler/python/printable.inc
"""
import os
import re
import sys
import unicodedata

TABLE = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                     "../../compiler/python/printable.inc")
RANGE = re.compile(r"RANGE\((0x[0-9a-f]+), (0x[0-9a-f]+), (\d+)_(\d+)\)")
WIDTH = 78


def read_table(text):
    """Since which Unicode each code point is printable."""
    return {point: (int(major), int(minor))
            for first, last, major, minor in RANGE.findall(text)
            for point in range(int(first, 16), int(last, 16) + 1)}


def extend(since):
    """With the code points of this Python's Unicode."""
    here = tuple(map(int, unicodedata.unidata_version.split(".")[:2]))
    for point in range(0x80, sys.maxunicode + 1):
        if chr(point).isprintable():
            since.setdefault(point, here)
        elif since.get(point, here) < here:
            sys.exit("printable.py: U+%04X was printable" % point)


def ranges_of(since):
    first = last = None
    for point in sorted(since):
        if first is None or point > last + 1 or since[point] != since[first]:
            if first is not None:
                yield first, last, since[first]
            first = point
        last = point
    yield first, last, since[first]


def main():
    with open(TABLE) as table:
        text = table.read()
    since = read_table(text)
    extend(since)
    line = ""
    print(text[:text.index("RANGE(0x")], end="")
    for first, last, version in ranges_of(since):
        word = "RANGE(%#x, %#x, %d_%d)" % ((first, last) + version)
        if line and len(line) + 1 + len(word) > WIDTH:
            print(line)
            line = ""
        line += " " + word if line else word
    print(line)


if __name__ == "__main__":
    main()
