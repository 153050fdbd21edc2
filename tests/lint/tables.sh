#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# The tables of the Python that is here are those that it prints itself.
set -eu

export PYTHONDONTWRITEBYTECODE=1
table=$(python3 -c 'import sys; print("opcodes_%d_%d.inc" % sys.version_info[:2])')
if [ ! -f "compiler/python/$table" ]; then
	echo "there is no $table: skipped"
	exit 77
fi
python3 tests/tools/opcodes.py "compiler/python/$table" |
	diff -u "compiler/python/$table" -
python3 tests/tools/printable.py | diff -u compiler/python/printable.inc -
