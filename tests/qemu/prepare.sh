#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# prepare.sh [SERIES...]: fetch and make all that builds and guests need, then
# print one line a series: "SERIES ok RELEASE" or "SERIES SKIP REASON".
# Exits 1 when no series is available.

set -euo pipefail
# shellcheck source=tests/qemu/setup.sh
. "$(dirname "$0")/setup.sh"

prepare() {
	local series have=0 lines=()

	setup_base fresh
	for series in "$@"; do
		setup_series "$series" fresh
		if [ -n "$KERNEL_CACHE" ]; then
			lines+=("$series ok $(cat "$KERNEL_CACHE/release")")
			have=1
		else
			lines+=("$series SKIP $SKIP_REASON")
		fi
	done
	# The unpacked trees are kept, not the packages.
	apt-get -qq clean || :
	printf '%s\n' "${lines[@]}"
	[ "$have" = 1 ] || die "none of these series is available: $*"
}

case ${1:-} in
-h|--help) sed -n '4,6s/^# //p' "$0"; exit 0 ;;
esac
need_root
need_host_tools
mkdir -p "$CACHE" || die "the cache directory $CACHE cannot be made; set XDG_CACHE_HOME to a place with 3 GB of room."
t0=$(now_ms)
# shellcheck disable=SC2086 # a list
[ $# != 0 ] || set -- $ALL_SERIES
with_lock "$CACHE/lock" prepare "$@"
say "prepared in $(since "$t0"), in $CACHE"
