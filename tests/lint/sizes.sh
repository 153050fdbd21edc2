#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# No file over 600 lines, no function over 60.
set -eu

find codec compiler fs tests -path tests/data -prune -o -path tests/corpus -prune \
	-o -type f -name '*.[ch]' -print | sort | xargs awk '
	FNR == 1 { start = 0 }
	FNR == 601 { complain("the file has over 600 lines") }
	/^\{/ { start = FNR }
	/^\}/ {
		if (start && FNR - start - 1 > 60)
			complain("the function has " FNR - start - 1 " lines")
		start = 0
	}
	function complain(what) {
		print FILENAME ":" FNR ": " what
		bad = 1
	}
	END { exit bad }'
