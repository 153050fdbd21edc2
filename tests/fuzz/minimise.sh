#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# minimise.sh TARGET DIRECTORY CORPUS [COUNT]: of what a long run of the fuzz
# target has left in DIRECTORY, keeps a few small inputs that reach code which
# tests/corpus/CORPUS does not: up to COUNT (32), in tests/corpus/found-CORPUS,
# in place of those there before.
set -eu

if [ $# -lt 3 ]; then
	echo "usage: $0 TARGET DIRECTORY CORPUS [COUNT]" >&2
	exit 2
fi
target=$1 directory=$2 corpus=$3 count=${4:-32}
root=$(dirname "$0")/../corpus
found=$root/found-$corpus

# What is kept of an input is its edges only: counters would keep thousands.
merge() {
	"$target" -set_cover_merge=1 -use_counters=0 -use_cmp=0 -max_len=4096 \
		-timeout=25 "$@"
}

scratch=$(mktemp -d)
trap 'rm -rf "$scratch"' EXIT
mkdir -p "$found" "$scratch/known" "$scratch/all"
cp "$root/$corpus"/* "$scratch/known"
cp "$scratch/known"/* "$scratch/all"
merge "$scratch/all" "$directory" "$found"
for input in "$scratch/known"/*; do
	rm "$scratch/all/${input##*/}"
done
rm -f "$found"/*
# They were written in the order of what each adds to those before it.
find "$scratch/all" -type f -printf '%T@ %f\n' | sort -n | head -n "$count" |
	while read -r _ input; do
		cp "$scratch/all/$input" "$found"
	done
rmdir "$found" 2>/dev/null || ls -l "$found"
