# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# Verbs for the selftests. Source it first. Runs in a guest and on a live host:
# what a test changes it puts back, on every way out.
#
# A test is a list of functions, each a short story:
#	test_name() { cg a; set_policy a set_active; is "..." original "$(...)"; }
#	run_tests test_name...
# A function fails if one of its checks does; it goes on, so that all are seen.

MGLRU=/sys/kernel/mglru_policy
TRACING=/sys/kernel/tracing
MGLRU_KO=${MGLRU_KO:-}
MODULES=${MODULES:-/mglru/modules}
CG_PARENT=mglru_selftest.$$
WE_LOADED=
OUR_FUNCTIONS='^(folio_add_lru|lru_add|workingset_refault|page_cache_async_ra|lru_gen_set_refs|walk_update_folio|walk_pud_range|walk_pmd_range_locked|lru_gen_look_around|folio_referenced|inc_max_seq|mem_cgroup_css_online|mem_cgroup_css_offline) '

# Where the memory controller's hierarchy is mounted.
find_cgroups() {
	if grep -qw memory /sys/fs/cgroup/cgroup.controllers 2>/dev/null; then
		CGV=2 CGROOT=/sys/fs/cgroup
	elif [ -e /sys/fs/cgroup/memory/memory.usage_in_bytes ]; then
		CGV=1 CGROOT=/sys/fs/cgroup/memory
	else
		skip_all "no memory controller is mounted under /sys/fs/cgroup"
	fi
}

skip_all() {
	printf '1..0 # SKIP %s\n' "$*"
	exit 4
}

say() { printf '# %s\n' "$*"; }

# ok DESCRIPTION COMMAND...: the command must succeed.
ok() {
	local what=$1
	shift
	"$@" && return
	say "FAILED: $what: $*"
	FAILED=1
}

# is DESCRIPTION WANTED GOT
is() {
	[ "$2" = "$3" ] && return
	say "FAILED: $1: wanted '$2', got '$3'"
	FAILED=1
}

# between DESCRIPTION LOW HIGH GOT: numbers, both ends included.
between() {
	if [ "$4" -ge "$2" ] 2>/dev/null && [ "$4" -le "$3" ]; then return; fi
	say "FAILED: $1: wanted $2 to $3, got '$4'"
	FAILED=1
}

fail() {
	say "FAILED: $*"
	FAILED=1
}

loaded() { grep -q '^mglru_policy ' /proc/modules; }

load() {
	if [ -n "$MGLRU_KO" ]; then
		insmod "$MGLRU_KO" "$@"
	else
		modprobe mglru_policy "$@"
	fi || return
	WE_LOADED=1
}

unload() { rmmod mglru_policy && WE_LOADED=; }

# need_module: load it unless it is loaded; a test that reloads calls load itself.
need_module() { loaded || load || skip_all "cannot load mglru_policy"; }

# cg NAME: make a cgroup below the test's own; cgpath NAME: its path.
cgpath() { echo "$CG_PARENT${1:+/$1}"; }
cg() {
	local d=$CGROOT/$CG_PARENT
	if [ ! -d "$d" ]; then
		mkdir "$d" || return
		if [ "$CGV" = 2 ]; then echo +memory >"$d/cgroup.subtree_control"; fi
	fi
	[ -z "${1:-}" ] || mkdir "$CGROOT/$(cgpath "$1")"
}

mdir() { echo "$MGLRU/cgroup/$(cgpath "$1")"; }
asked() { cat "$(mdir "$1")/mglru.policy"; }
effective() { cat "$(mdir "$1")/mglru.effective"; }
set_policy() { echo "$2" >"$(mdir "$1")/mglru.policy"; }
stat_of() { awk -v k="$2" '$1 == k {print $2}' "$(mdir "$1")/mglru.stat"; }

# errno_of STRING FILE: the error of writing it, 0 if none. strerror's words.
write_error() {
	local e
	e=$(printf '%b' "$1" 2>/dev/null | { LC_ALL=C dd of="$2" bs=64k 2>&1 >/dev/null iflag=fullblock; } |
		sed -n "s/^dd: error writing .*: //p")
	echo "${e:-0}"
}

# hook_state FUNCTION: attached, idle, failed, or nothing.
hook_state() { awk -v f="$1" '$1 == f {print $3}' $MGLRU/hooks; }

hook_is() { [ "$(hook_state "$1")" = "$2" ]; }

# What ftrace itself says: which of our functions are redirected or observed.
enabled_functions() {
	grep -E "$OUR_FUNCTIONS" $TRACING/enabled_functions | awk '{print $1}' | sort | tr '\n' ' '
}

# Lines of the kernel log since log_mark.
log_mark() { LOG_MARK="mglru selftest mark $$ $RANDOM"; echo "$LOG_MARK" >/dev/kmsg; }
log_has() { dmesg | sed "1,/$LOG_MARK/d" | grep -qE -- "$1"; }

# wait_for SECONDS COMMAND...: poll until it succeeds.
wait_for() {
	local end=$((SECONDS + $1))
	shift
	until "$@"; do
		[ $SECONDS -lt $end ] || return 1
		sleep 0.2
	done
}

# fault_in NAME: a process in the cgroup that touches some megabytes of memory.
fault_in() {
	(echo $BASHPID >"$CGROOT/$(cgpath "$1")/cgroup.procs" &&
		exec dd if=/dev/zero of=/dev/null bs=4M count=1 status=none)
}

# decisions NAME: how many the module has taken for the cgroup.
decisions() { awk '/^(add|refs|exec)_/ {n += $2} END {print n + 0}' "$(mdir "$1")/mglru.stat"; }

# load_error [PARAMETER...]: why loading fails, strerror's words; 0 if it does not.
load_error() {
	local e
	e=$(LC_ALL=C; export LC_ALL; load "$@" 2>&1) && { echo 0; return; }
	echo "${e##*: }"
}

# Since log_mark, the kernel has not complained.
log_clean() { ! log_has 'WARNING: |BUG: |Oops: |cut here|general protection|Call Trace:'; }

cleanup_cgroups() {
	local d
	[ -d "$CGROOT/$CG_PARENT" ] || return 0
	for _ in $(seq 50); do
		if [ -e "$CGROOT/$CG_PARENT/cgroup.kill" ]; then echo 1 >"$CGROOT/$CG_PARENT/cgroup.kill"; fi
		while read -r d; do rmdir "$d" 2>/dev/null; done < <(find "$CGROOT/$CG_PARENT" -depth -type d)
		[ -d "$CGROOT/$CG_PARENT" ] || return 0
		sleep 0.2
	done
	say "could not remove $CGROOT/$CG_PARENT"
	return 1
}

at_exit() {
	[ "$(type -t restore)" != function ] || restore
	cleanup_cgroups
	if [ -n "$WE_LOADED" ] && loaded; then rmmod mglru_policy; fi
}

# run_tests FUNCTION...: KTAP
run_tests() {
	local n=0 bad=0 t
	trap at_exit EXIT
	echo "KTAP version 1"
	echo "1..$#"
	for t in "$@"; do
		n=$((n + 1))
		FAILED=
		"$t"
		if [ -n "$FAILED" ]; then
			bad=$((bad + 1))
			echo "not ok $n ${t#test_}"
		else
			echo "ok $n ${t#test_}${SKIPPED:+ # SKIP $SKIPPED}"
		fi
		SKIPPED=
		cleanup_cgroups || bad=$((bad + 1))
	done
	[ $bad = 0 ] || exit 1
	exit 0
}

[ "$(id -u)" = 0 ] || skip_all "needs root"
find_cgroups
