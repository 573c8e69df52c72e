# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # some variables are for the sourcing scripts
#
# Everything a build or a guest needs, made or taken from the cache. What the
# last full look at the package index found is kept in $CACHE/state for
# STATE_MAX_AGE seconds, so that a run does not ask the mirror again.
# Sourced by the commands.

# shellcheck source=tests/qemu/lib.sh
. "$(dirname "${BASH_SOURCE[0]}")/lib.sh"
# shellcheck source=tests/qemu/apt.sh
. "$QEMU_DIR/apt.sh"
# shellcheck source=tests/qemu/root.sh
. "$QEMU_DIR/root.sh"
# shellcheck source=tests/qemu/kernels.sh
. "$QEMU_DIR/kernels.sh"
# shellcheck source=tests/qemu/debug.sh
. "$QEMU_DIR/debug.sh"

STATE_MAX_AGE=$((12 * 3600))

# state_fresh FILE: made lately, by the harness as it is now
state_fresh() {
	local age newest

	[ -s "$1" ] || return 1
	age=$(($(date +%s) - $(stat -c %Y "$1")))
	((age < STATE_MAX_AGE)) || return 1
	for newest in lib apt root kernels debug setup; do
		[ "$QEMU_DIR/$newest.sh" -nt "$1" ] && return 1
	done
	for newest in stage1 initrd debug.config; do
		[ "$QEMU_DIR/$newest" -nt "$1" ] && return 1
	done
	return 0
}

INDEX_READY=
index_once() {
	[ -n "$INDEX_READY" ] || apt_index "$@"
	INDEX_READY=1
}

# setup_base cached|fresh: sets ROOT and GUEST_IMG
setup_base() {
	local state=$CACHE/state/base

	if [ "$1" != fresh ] && state_fresh "$state"; then
		{ read -r ROOT; read -r GUEST_IMG; } <"$state"
		if [ -s "$ROOT/.packages" ] && [ -s "$GUEST_IMG" ]; then
			touch "$ROOT" "$GUEST_IMG"	# in use, see prune_cache
			return
		fi
	fi
	prune_cache
	index_once "$@"
	ensure_root
	ensure_guest
	mkdir -p "$CACHE/state"
	printf '%s\n' "$ROOT" "$GUEST_IMG" >"$state.new"
	mv "$state.new" "$state"
}

# setup_series SERIES [fresh]: sets KERNEL_CACHE or SKIP_REASON
setup_series() {
	local series=$1 state=$CACHE/state/$1
	shift

	if [ "$series" = custom ]; then
		SKIP_REASON=
		ensure_custom
		return
	fi
	KERNEL_CACHE='' SKIP_REASON=''
	if [ "${1:-}" != fresh ] && state_fresh "$state"; then
		read -r KERNEL_CACHE <"$state"
		if kernel_whole "$KERNEL_CACHE"; then
			touch "$KERNEL_CACHE"
			return
		fi
	fi
	index_once "$@"
	case $series in
	*-debug) ensure_debug "$series" ;;
	*) ensure_kernel "$series" ;;
	esac
	[ -n "$KERNEL_CACHE" ] || { rm -f "$state"; return 0; }
	mkdir -p "$CACHE/state"
	echo "$KERNEL_CACHE" >"$state.new"
	mv "$state.new" "$state"
}

setup_both() {
	setup_base cached
	setup_series "$1"
}

# setup SERIES: all a guest of SERIES needs, one run at a time
setup() {
	local lock=$CACHE/lock

	need_root
	need_host_tools
	mkdir -p "$CACHE" || die "the cache directory $CACHE cannot be made; set XDG_CACHE_HOME to a place with 3 GB of room."
	with_lock "$lock" setup_both "$@"
}
