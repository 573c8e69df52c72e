# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash disable=SC2034 # some variables are for the sourcing scripts
#
# What every script of the harness shares: messages, progress, locking, and
# running a command inside the trixie root. Sourced, never run.

QEMU_DIR=$(cd "$(dirname "${BASH_SOURCE[0]}")" && pwd)
TOP=$(cd "$QEMU_DIR/../.." && pwd)
CACHE=${MGLRU_CACHE:-${XDG_CACHE_HOME:-${HOME:-/var/cache}/.cache}/mglru_policy}
BUILD=${MGLRU_BUILD:-$TOP/build}
ALL_SERIES="6.12 6.18 7.2 7.3"
HEARTBEAT=8		# seconds of silence before a long step says it lives

say() { printf '# %s\n' "$*"; }
warn() { printf '# %s\n' "$*" >&2; }
die() { printf 'error: %s\n' "$*" >&2; exit 1; }

now_ms() { local t=${EPOCHREALTIME/[.,]/}; echo "${t%???}"; }

# seconds with one decimal since the given now_ms
since() {
	local d=$(($(now_ms) - $1))

	printf '%d.%d s' $((d / 1000)) $((d % 1000 / 100))
}

need_root() {
	[ "$(id -u)" = 0 ] ||
		die "this needs root: modules are built and QEMU runs in a chroot with its own mounts. Run it as root (sudo -E)."
}

# need_tool TOOL PACKAGE
need_tool() {
	command -v "$1" >/dev/null ||
		die "$1 is missing on this machine; it is in the package $2 (apt-get install $2)."
}

need_host_tools() {
	need_tool apt-get apt
	need_tool dpkg-deb dpkg
	need_tool flock util-linux
	need_tool unshare util-linux
	need_tool setpriv util-linux
	need_tool chroot coreutils
	need_tool mount mount
	need_tool awk mawk
	[ "$(uname -m)" = x86_64 ] || die "the harness runs on x86_64 only, this is $(uname -m)."
}

# step TEXT CMD...: run CMD quietly, tell what it does, that it lives, and how
# long it took. Its output goes to a log, shown (the end of it) if CMD fails.
step() {
	local text=$1 t0 pid log rc beat
	shift

	log=$(mktemp "${TMPDIR:-/tmp}/mglru-step.XXXXXX")
	t0=$(now_ms)
	beat=$HEARTBEAT
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		if (( $(now_ms) - t0 >= beat * 1000 )); then
			say "$text: $(since "$t0") so far"
			beat=$((beat + HEARTBEAT))
		fi
		sleep 0.1
	done
	rc=0
	wait "$pid" || rc=$?
	if [ "$rc" = 0 ]; then
		say "$text: $(since "$t0")"
		rm -f "$log"
	else
		warn "$text: failed (status $rc) after $(since "$t0"); the end of its output:"
		tail -n 40 "$log" >&2
		rm -f "$log"
	fi
	return "$rc"
}

# with_lock FILE CMD...: one at a time over all runs that share the cache.
with_lock() {
	local lock=$1 t0 beat fd rc=0
	shift

	mkdir -p "$(dirname "$lock")"
	exec {fd}>"$lock"
	t0=$(now_ms)
	beat=$HEARTBEAT
	until flock -w 1 "$fd"; do
		if (( $(now_ms) - t0 >= beat * 1000 )); then
			say "waiting for another run that holds $lock: $(since "$t0")"
			beat=$((beat + HEARTBEAT))
		fi
	done
	"$@" || rc=$?
	exec {fd}>&-
	return "$rc"
}

# in_root ROOT BIND... -- CMD...: run CMD in the trixie root. A BIND is
# NAME=PATH (PATH appears as /mnt/NAME) or /PLACE=PATH (PATH appears at /PLACE).
# The mounts live in a private namespace and vanish with CMD. exec all the way,
# so that the caller's child *is* CMD, and dies with the caller.
in_root() {
	# shellcheck disable=SC2016 # expands in the inner shell
	exec setpriv --pdeathsig KILL unshare -m --propagation private -- \
		/bin/bash -ec '
		root=$1; shift
		mount -t tmpfs -o mode=755 tmpfs "$root/mnt"
		mount -t proc proc "$root/proc"
		while [ "$1" != -- ]; do
			place=${1%%=*} path=${1#*=}; shift
			case $place in /*) ;; *) place=/mnt/$place ;; esac
			if [ -d "$path" ]; then
				mkdir -p "$root$place"
			else
				mkdir -p "$root${place%/*}"
				[ -e "$root$place" ] || : >"$root$place"
			fi
			mount --bind "$path" "$root$place"
		done
		shift
		exec chroot "$root" /usr/bin/env -i PATH=/usr/sbin:/usr/bin HOME=/ \
			LC_ALL=C TMPDIR=/tmp "$@"' in_root "$@"
}

# The same without replacing the caller's shell.
run_in_root() { (in_root "$@"); }

# digest: a short name for what stands on stdin
digest() { sha256sum | cut -c1-12; }
