#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Nothing that shellcheck complains of stands in the shell scripts.
set -eu

if ! command -v shellcheck >/dev/null; then
	echo 'shellcheck is not here: skipped'
	exit 77
fi
find tests mount-helpers .ci -type f \( -name '*.sh' -o -path '.ci/run' \) \
	-exec shellcheck {} +
