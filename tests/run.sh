#!/bin/bash
# SPDX-License-Identifier: Apache-2.0
# run.sh [--fast]: builds tacfs and runs every test: with the address and
# undefined-behaviour sanitizers, as released, and with the thread sanitizer.
# --fast: the first only. On Debian 12 as root, installs what that needs. Writes
# only to build/. Ends with ctest's closing lines, and with its status.
set -euo pipefail

cd "$(dirname "$0")/.."

case $#:${1-} in
0:) presets='dev release tsan' ;;
1:--fast) presets='dev' ;;
*)
	echo 'usage: tests/run.sh [--fast]' >&2
	exit 2
	;;
esac

mount-helpers/packages.sh gcc libc6-dev cmake ninja-build pkg-config fuse3 \
	libfuse3-dev liblz4-dev libxxhash-dev libssl-dev libjansson-dev \
	libcmocka-dev python3 clang-format shellcheck git rsync
case $presets in
*release*) # without them, the tests of programs on a mount are skipped
	mount-helpers/packages.sh sqlite3 ccache stress-ng fio dbench vim-tiny ||
		echo 'not all programs could be installed' >&2
	;;
esac

mkdir -p build
closing=
for preset in $presets; do
	log=build/$preset.log
	status=0
	cmake --workflow --preset "$preset" 2>&1 | tee "$log" || status=$?
	line=$(grep -E '^[0-9]+% tests passed' "$log" || echo 'the build failed')
	closing+="== $preset"$'\n'"$line"$'\n'
	[ "$status" -eq 0 ] || break
done
printf '\n%s' "$closing"
exit "$status"
