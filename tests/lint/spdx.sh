#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# Every source file says its licence.
set -eu

missing=$(find . \( -path ./build -o -path ./.git -o -path ./tests/data \
	-o -path ./tests/corpus -o -path ./tests/golden \) -prune -o -type f \
	\( -name '*.[ch]' -o -name '*.inc' -o -name '*.py' -o -name '*.sh' \
	-o -name '*.cmake' -o -name '*.cmake.in' -o -name CMakeLists.txt \
	-o -name '*.1' -o -name '.clang-*' -o -name .gitignore \
	-o -path './.ci/*' -o -path './mount-helpers/*' \) -exec \
	grep -L 'SPDX-License-Identifier: Apache-2\.0' {} +)
if [ -n "$missing" ]; then
	printf 'no SPDX-License-Identifier in:\n%s\n' "$missing" >&2
	exit 1
fi
