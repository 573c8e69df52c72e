#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Out of memory: every allocation of load, of a write of a policy and of the
# making of a cgroup fails once, one after another. Needs a kernel with
# fault injection (fail-nth), such as the harness's debug kernel, and failnth
# of tests/workloads in PATH.
# faults.sh [test_NAME...]: only these.
# shellcheck disable=SC2086,SC2016 # our paths have no blanks; eval expands
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

DEBUGFS=/sys/kernel/debug
LIMIT=3000	# allocations: more than any of the calls makes

cgdir() { echo "$CGROOT/$(cgpath "$1")"; }

set_attr() { echo "$2" >"$DEBUGFS/$1" || fail "$1 cannot be set"; }

# faults_in FUNCTION [MODULE]: fail only what has the function in its stack.
faults_in() {
	local a range
	range=$(awk -v f="$1" -v m="${2:+[$2]}" '
		start { print start, "0x" $1; exit }
		$3 == f && $4 == m { start = "0x" $1 }' <(sort /proc/kallsyms))
	[ -n "$range" ] || { fail "there is no function $1"; return 1; }
	for a in failslab fail_page_alloc; do
		set_attr $a/require-start "${range% *}"
		set_attr $a/require-end "${range#* }"
	done
}

# Silent, and not only those that may not sleep.
faults_on() {
	set_attr failslab/verbose 0
	set_attr failslab/ignore-gfp-wait N
	set_attr fail_page_alloc/verbose 0
	set_attr fail_page_alloc/ignore-gfp-wait N
	set_attr fail_page_alloc/ignore-gfp-highmem N
	set_attr fail_page_alloc/min-order 0
}

restore() {
	local a
	for a in failslab fail_page_alloc; do
		set_attr $a/require-start 0
		set_attr $a/require-end 0
	done
}

# each_fault CHECK ARGS...: the call "failnth N ARGS" for N = 1, 2, ... until it
# makes fewer allocations. After each, CHECK ERROR INJECTED N looks at what it
# left, and clears it away. Sets FAULTS (injected), REFUSED (of these ENOMEM).
each_fault() {
	local check=$1 n result
	shift
	FAULTS=0 REFUSED=0
	for ((n = 1; n < LIMIT; n++)); do
		result=$(failnth $n "$@") || { fail "failnth $n $*"; return; }
		case $result in
		"0 0") $check 0 0 $n; break ;;
		"0 1") FAULTS=$((FAULTS + 1)); $check 0 1 $n ;;
		"ENOMEM 1")
			FAULTS=$((FAULTS + 1)) REFUSED=$((REFUSED + 1))
			$check ENOMEM 1 $n
			;;
		*)
			fail "$*, allocation $n: error and faults '$result'"
			$check ${result% *} 1 $n
			;;
		esac
		[ -z "$FAILED" ] || say "at allocation $n of: $*"
		((n % 50)) || say "$n allocations failed"
	done
	say "$FAULTS faults, $REFUSED refused: $*"
	between "$*: allocations" 1 $((LIMIT - 2)) "$FAULTS"
}

# What a load without a fault offers; a load that says it worked offers it too.
offer() { cat $MGLRU/available $MGLRU/unavailable; awk '{print $1, $2, $3}' $MGLRU/hooks; }

check_load() {
	if [ "$1" = 0 ]; then
		is "what allocation $3 cost" "$OFFER" "$(offer)"
		ok "unload $3" rmmod mglru_policy
	fi
	is "no module ($3)" no "$(loaded && echo yes || echo no)"
	ok "no sysfs entry ($3)" test ! -e $MGLRU
	is "no hook ($3)" "" "$(enabled_functions)"
}

test_load() {
	load policy=mark_accessed || { fail "the module does not load"; return; }
	OFFER=$(offer)
	unload
	faults_in do_one_initcall || return
	each_fault check_load load "$MGLRU_KO" policy=mark_accessed
	between "loads refused" 1 $LIMIT "$REFUSED"
	restore
	ok "a load" load
	ok "its end" unload
}

# write_faults FILE VALUE EFFECTIVE WANTED: of cgroup a
write_faults() {
	FILE=$(mdir a)/$1 EFFECTIVE=$(mdir a)/$3 WANTED=$4
	each_fault check_write write "$FILE" "$2"
	between "$2: writes refused" 1 $LIMIT "$REFUSED"
}

check_write() {
	if [ "$1" = 0 ]; then
		is "in force ($3)" "$WANTED" "$(cat "$EFFECTIVE")"
		echo inherit >"$FILE"
	fi
	is "asked ($3)" inherit "$(cat "$FILE")"
	is "back to ($3)" original "$(cat "$EFFECTIVE")"
	is "hooks ($3)" "$IDLE_HOOKS" "$(enabled_functions)"
}

test_write() {
	need_module
	cg a
	IDLE_HOOKS=$(enabled_functions)
	restore
	write_faults mglru.policy fault_youngest mglru.effective fault_youngest
	if grep -qx aging=batched $MGLRU/available; then
		write_faults mglru.aging batched mglru.effective_aging batched
	fi
	set_policy a fault_youngest
	fault_in a
	between "decisions" 1 1000000000 "$(decisions a)"
	set_policy a inherit
}

# All that readahead_credit needs. The hooks of another cgroup stay.
test_write_beside_another() {
	need_module
	cg a
	cg b
	set_policy b fault_youngest
	IDLE_HOOKS=$(enabled_functions)
	restore
	write_faults mglru.policy readahead_credit mglru.effective readahead_credit
	is "the other's policy" fault_youngest "$(effective b)"
	fault_in b
	between "its decisions" 1 1000000000 "$(decisions b)"
}

# Going back to inherit detaches: a fault may refuse the write, no more.
check_back() {
	if [ "$1" = 0 ]; then
		is "hooks ($3)" "$IDLE_HOOKS" "$(enabled_functions)"
		is "in force ($3)" original "$(effective a)"
		set_policy a fault_youngest
	fi
	is "in force again ($3)" fault_youngest "$(effective a)"
	ok "hook ($3)" hook_is folio_add_lru attached
}

test_write_back() {
	need_module
	cg a
	IDLE_HOOKS=$(enabled_functions)
	restore
	set_policy a fault_youngest
	each_fault check_back write "$(mdir a)/mglru.policy" inherit
	set_policy a inherit
}

check_bare_mkdir() { [ "$1" != 0 ] || rmdir "$(cgdir p/x)"; }

# The cgroup works, with its entry or without. Its like, made again, has one.
check_mkdir() {
	[ "$1" = 0 ] || return 0
	if [ -e "$(mdir p/x)" ]; then
		is "in force ($3)" fault_youngest "$(effective p/x)"
	else
		WITHOUT=$((WITHOUT + 1))
	fi
	fault_in p/x || fail "cgroup $3 does not work"
	rmdir "$(cgdir p/x)"
	mkdir "$(cgdir p/x)"
	ok "a retry has its directory ($3)" test -e "$(mdir p/x)"
	is "in force, retry ($3)" fault_youngest "$(effective p/x)"
	rmdir "$(cgdir p/x)"
}

test_mkdir() {
	local kernels
	! loaded || unload
	cg p
	[ "$CGV" = 1 ] || echo +memory >"$(cgdir p)/cgroup.subtree_control"
	faults_in mem_cgroup_css_online || return
	each_fault check_bare_mkdir mkdir "$(cgdir p/x)"
	kernels=$REFUSED
	load || { fail "the module does not load"; return; }
	set_policy p fault_youngest
	faults_in mglru_css_online mglru_policy || return
	WITHOUT=0
	each_fault check_mkdir mkdir "$(cgdir p/x)"
	is "mkdir refused, as without us" "$kernels" "$REFUSED"
	say "$WITHOUT cgroups had no entry"
	between "cgroups without an entry" 1 $LIMIT "$WITHOUT"
	restore
	unload
}

[ -e /proc/thread-self/fail-nth ] || skip_all "this kernel has no fault injection"
for m in failslab fail_page_alloc; do
	[ -d $DEBUGFS/$m ] || skip_all "no $m in debugfs"
done
command -v failnth >/dev/null || skip_all "no failnth in PATH; build tests/workloads"
if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
faults_on
[ $# = 0 ] || { run_tests "$@"; exit; }
run_tests test_load test_write test_write_beside_another test_write_back test_mkdir
