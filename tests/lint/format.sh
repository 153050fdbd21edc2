#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# clang-format changes nothing. Its output differs from version to version, so
# this is checked with the version of Debian 12 only.
set -eu

if ! clang-format --version 2>/dev/null | grep -q 'version 14\.'; then
	echo 'clang-format 14 is not here: skipped'
	exit 77
fi
places=$(find codec compiler fs tests -type f -name '*.[ch]' -exec \
	clang-format --dry-run {} + 2>&1 | grep 'warning:' || true)
if [ -n "$places" ]; then
	printf '%s\n' "$places" | sort -t: -u -k1,1 >&2
	echo 'to mend: clang-format -i FILE...' >&2
	exit 1
fi
