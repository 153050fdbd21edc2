#!/bin/sh
# SPDX-License-Identifier: Apache-2.0
# packages.sh PACKAGE...: installs the Debian packages that are missing. Where it
# cannot, because this is not Debian or the caller is not root, it says which are
# needed and leaves it at that: the tools may be there under another name.
set -eu

missing() {
	for package in "$@"; do
		status=$(dpkg-query -W -f='${Status}' "$package" 2>/dev/null || :)
		if [ "$status" != 'install ok installed' ]; then
			printf ' %s' "$package"
		fi
	done
}

if ! command -v apt-get >/dev/null || ! command -v dpkg-query >/dev/null; then
	echo "not Debian; by their Debian names these are needed: $*" >&2
	exit 0
fi
wanted=$(missing "$@")
[ -n "$wanted" ] || exit 0
if [ "$(id -u)" -ne 0 ]; then
	echo "not root; these packages are missing:$wanted" >&2
	exit 0
fi

echo "installing:$wanted"
export DEBIAN_FRONTEND=noninteractive
apt-get -qq -o Acquire::Retries=3 update
# shellcheck disable=SC2086 # a list of words
apt-get -qq -y -o Acquire::Retries=3 -o Dpkg::Use-Pty=0 \
	install --no-install-recommends $wanted >/dev/null
