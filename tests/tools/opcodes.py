#!/usr/bin/env python3
# SPDX-License-Identifier: Apache-2.0
"""Prints the opcodes of the Python that runs this, as compiler/python/*.inc.

    python3.15 tests/tools/opcodes.py >compiler/python/opcodes_3_15.inc

What an interpreter does not tell (limits, roles, the finer forms) is that of
the newest older table, by name, or of the table given as an argument. Lines
marked LOOK are to be judged by a person, who then deletes the mark.
"""
import glob
import opcode
import os
import re
import sys

TABLES = os.path.join(os.path.dirname(os.path.abspath(__file__)),
                      "../../compiler/python")
LINE = re.compile(r"OP\((\d+), (\w+), (\w+), (\d+), (\w+), (\w+), (\w+)\)")

# In opmap, but only the interpreter itself puts them into code.
INTERNAL = {"CACHE", "RESERVED", "INTERPRETER_EXIT", "EXIT_INIT_CHECK",
            "ENTER_EXECUTOR"}

# Forms that opcode.py does not tell apart: by which of its lists, and which.
FINER = {
    "RAW": {"FORMAT", "CONVERT", "MAKEFN", "SETFN", "BINOP", "INTR1", "INTR2",
            "COMMON", "SPECIAL", "IS", "IN"},
    "NAME": {"NAME_GLOBAL", "NAME_ATTR", "NAME_SUPER"},
    "LOCAL": {"LOCAL2"},
    "JREL": {"JFROM"},
}

HEADER = """\
/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The opcodes that CPython {version} stores ({source}):
 * OP(number, name, form, caches, least argument, most, role).
 * Numbers that are absent are not stored: specialised, instrumented, unused.
 */"""


def has_argument(number):
    if hasattr(opcode, "hasarg"):
        return number in opcode.hasarg
    return number >= opcode.HAVE_ARGUMENT


def form_of(number, name):
    """As far as opcode.py tells."""
    if not has_argument(number):
        return "NONE"
    if number in opcode.hasjrel:
        return "JBACK" if "BACKWARD" in name else "JREL"
    lists = {"CONST": opcode.hasconst, "NAME": opcode.hasname,
             "LOCAL": opcode.haslocal, "FREE": opcode.hasfree,
             "JABS": opcode.hasjabs, "COMPARE": opcode.hascompare}
    if name == "KW_NAMES" and sys.version_info < (3, 12):
        return "RAW"  # a constant, but 3.11's dis does not show it
    return next((f for f, of in lists.items() if number in of), "RAW")


def caches_of(number, name):
    units = getattr(opcode, "_inline_cache_entries", {})
    if isinstance(units, dict):  # since 3.13
        return units.get(name, 0)
    return units[number]


def stored():
    """The (number, name) of what the compiler writes, in order."""
    special = set(getattr(opcode, "_specialized_opmap", ()))
    special.update(getattr(opcode, "_specialized_instructions", ()))
    return sorted((number, name) for name, number in opcode.opmap.items()
                  if number < 256  # or it is for the compiler's own use
                  and name not in INTERNAL and name not in special
                  and not name.startswith("INSTRUMENTED_"))


def older_table():
    paths = {int(re.search(r"_3_(\d+)\.inc$", path)[1]): path
             for path in glob.glob(os.path.join(TABLES, "opcodes_3_*.inc"))}
    minors = [minor for minor in paths if minor < sys.version_info[1]]
    if not minors:
        sys.exit("opcodes.py: no table is older than this Python")
    return paths[max(minors)]


def read_table(path):
    """(form, least, most, role) by name."""
    with open(path) as table:
        rows = [LINE.match(line) for line in table]
    return {row[2]: (row[3], row[5], row[6], row[7]) for row in rows if row}


def row_of(number, name, known):
    form, mark = form_of(number, name), ""
    old, least, most, role = known.get(name, ("", "0", "ANY", "PLAIN"))
    if not old:
        mark = " /* LOOK: new */"
    elif old in FINER.get(form, ()):
        form = old
    elif old != form:
        mark = " /* LOOK: was %s */" % old
        if "NONE" in (old, form):
            least, most = "0", "ANY"
    return "OP(%d, %s, %s, %d, %s, %s, %s)%s" % (
        number, name, form, caches_of(number, name), least, most, role, mark)


def main():
    known = read_table(sys.argv[1] if sys.argv[1:] else older_table())
    rows = stored()
    print(HEADER.format(
        version="%d.%d" % sys.version_info[:2],
        source="Include/opcode_ids.h, Lib/opcode.py"
        if sys.version_info >= (3, 13) else "Lib/opcode.py"))
    for number, name in rows:
        print(row_of(number, name, known))
    gone = sorted(set(known) - {name for _, name in rows})
    if gone:
        print("gone:", *gone, file=sys.stderr)


if __name__ == "__main__":
    main()
