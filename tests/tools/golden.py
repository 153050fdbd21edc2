#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Makes cases for tests/golden/dis with the Python that runs this.

    python3.15 tests/tools/golden.py tests/golden/dis/3.15 SOURCE.py...

A module becomes one case, and so does every function in it: NAME.marshal, and
NAME.dis with what readable_cache prints of it, which is dis.dis().
"""
import dis
import io
import marshal
import os
import re
import sys


def codes_of(name, code):
    yield name, code
    for const in code.co_consts:
        if isinstance(const, type(code)):
            inner = re.sub(r"\W+", "-", const.co_name).strip("-")
            yield from codes_of(name + "-" + inner, const)


def text_of(code):
    text = io.StringIO()
    dis.dis(code, file=text)
    # Addresses cannot be told from a file.
    return re.sub(r" at 0x[0-9a-fA-F]+", " at 0x0", text.getvalue())


def write_case(directory, name, code):
    path = os.path.join(directory, name)
    stored = marshal.dumps(code)
    with open(path + ".marshal", "xb") as out:
        out.write(stored)
    with open(path + ".dis", "x", encoding="utf-8", newline="\n") as out:
        out.write(text_of(marshal.loads(stored)))


def main():
    directory, *sources = sys.argv[1:]
    os.makedirs(directory, exist_ok=True)
    for path in sources:
        with open(path, encoding="utf-8") as source:
            module = compile(source.read(), "golden.py", "exec")
        stem = os.path.splitext(os.path.basename(path))[0]
        for name, code in codes_of(stem, module):
            write_case(directory, name, code)


if __name__ == "__main__":
    main()
