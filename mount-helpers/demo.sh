#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# demo.sh: builds tacfs, mounts a new store, lets a client save a real compile
# cache there as TorchAir would, and shows what became of it. On Debian 12 as
# root it installs what that needs. Writes to build/ and to a temporary
# directory, and leaves nothing mounted.
set -eu

cd "$(dirname "$0")/.."
tacfs=build/release/tacfs
data=tests/data/caches/trees
model=OfficialModel_dynamic_eb8f8bf4e67539f277cb7b6a398c9787
engine=OfficialModel_dynamic_gecache_eb8f8bf4e67539f277cb7b6a398c9787/prompt

say() {
	printf '\n=== %s\n' "$*"
}

# Shows a command, then runs it.
run() {
	printf '$ %s\n' "$*"
	"$@"
}

quietly() {
	if ! "$@" >build/demo.log 2>&1; then
		cat build/demo.log >&2
		exit 1
	fi
}

# Saves the cache of two ranks below a directory.
save_ranks() {
	for rank in world4global_rank0 world4global_rank1; do
		run python3 mount-helpers/demo_client.py \
			"$data/ranks_official/$model/$rank" "$1/$model/$rank"
	done
}

unmount() {
	if mountpoint -q "$1"; then
		umount "$1" 2>/dev/null || fusermount3 -u "$1" || umount -l "$1"
	fi
}

clean_up() {
	status=$?
	trap - EXIT HUP INT TERM
	unmount "$work/job1"
	unmount "$work/job2"
	rm -rf "$work"
	exit "$status"
}

packs() {
	"$tacfs" stats --json "$work/store" |
		python3 -c 'import json, sys; print(json.load(sys.stdin)["packs"])'
}

say 'Building'
mount-helpers/packages.sh gcc libc6-dev cmake ninja-build pkg-config fuse3 \
	libfuse3-dev liblz4-dev libxxhash-dev libssl-dev libjansson-dev \
	libcmocka-dev python3
mkdir -p build
quietly cmake --preset release
quietly cmake --build --preset release --target tacfs
run "$tacfs" --version

work=$(mktemp -d)
trap clean_up EXIT
trap 'exit 129' HUP
trap 'exit 130' INT
trap 'exit 143' TERM
mkdir "$work/job1" "$work/job2"

say 'The first job: mount a new store where the cache is to be'
run "$tacfs" mount "$work/store" "$work/job1"

say 'Two ranks save their cache; then a model that has .om and .idx files'
save_ranks "$work/job1"
run python3 mount-helpers/demo_client.py "$data/gecache/$engine" \
	"$work/job1/$engine"

say 'What it looks like: a readable.py stands beside each compiled_module'
run ls -lR "$work/job1"

say 'What a readable.py says'
readable=$(find "$work/job1" -name readable.py | sort | head -n 1)
run head -n 12 "$readable"

say 'What was written, and what of it is stored'
run "$tacfs" stats "$work/store"
before=$(packs)

say 'The second job: another mount of the store, the same cache, another name'
run "$tacfs" mount "$work/store" "$work/job2"
save_ranks "$work/job2/second"
run "$tacfs" stats "$work/store"
after=$(packs)
if [ "$before" != "$after" ]; then
	echo "there were $before packs and now are $after" >&2
	exit 1
fi
echo "No pack was added: $before before, $after after."

say 'The first job sees it at once'
run diff -r "$work/job1/$model" "$work/job1/second/$model"
echo 'No difference.'

say 'Done: unmounting'
