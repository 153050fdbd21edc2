#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No mutable globals: nothing of the given static libraries lies in a writable
# section, apart from what globals.allow names. (Constant tables of pointers lie
# in .data.rel.ro, which is read-only once the program runs.)
set -eu

allowed=$(dirname "$0")/globals.allow
symbols=$(objdump -t "$@")
found=$(printf '%s\n' "$symbols" | awk '
	/: +file format / { object = $1 }
	/ (\.data|\.bss|\.tdata|\.tbss|\*COM\*)[^ \t]*\t/ &&
	!/ \.data\.rel\.ro/ && $NF !~ /^\./ { print object, $NF }' |
	grep -vxFf "$allowed" || true)
if [ -n "$found" ]; then
	printf 'mutable globals:\n%s\n' "$found" >&2
	exit 1
fi
