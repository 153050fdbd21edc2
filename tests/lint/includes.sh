#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Includes point one way: codec <- compiler <- fs. codec and compiler turn bytes
# into other bytes: they include nothing that opens files, and call no stdio
# that writes to one.
set -eu

status=0

# refuse WHAT PATTERN DIRECTORY...: no line of the directories' C may match.
refuse() {
	what=$1 pattern=$2
	shift 2
	if grep -rnE --include='*.[ch]' --include='*.inc' "$pattern" "$@"; then
		echo "error: $what" >&2
		status=1
	fi
}

refuse 'codec may include only codec' '#include "(compiler|fs|tests)/' codec
refuse 'compiler may include only codec and compiler' '#include "(fs|tests)/' \
	compiler
refuse 'codec and compiler do not touch the system' \
	'#include <(fuse|unistd|fcntl|dirent|syslog|pthread|signal|sys/)' \
	codec compiler
refuse 'codec and compiler neither read files nor print' \
	'(^|[^a-z_])(v?f?printf|f?puts|f?putc|putchar|f(re)?open|fread|fwrite|perror|abort|exit)\(' \
	codec compiler
refuse 'fs/store knows nothing of the mount and the command' \
	'#include "fs/(mount|cli)/' fs/store
refuse 'fs/mount knows nothing of the command' '#include "fs/cli/' fs/mount
refuse 'includes name their file from the top of the tree' \
	'#include "[^/"]*"' codec compiler fs
exit "$status"
