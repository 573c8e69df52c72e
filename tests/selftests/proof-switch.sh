#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Switched while running: a workload starts under one policy and is switched in
# the middle, both ways; within two passes the counters follow. Nothing is
# restarted, no cache dropped.
#
# Workload C follows by itself. Workload A does not: once it storms, every page
# comes back as part of the working set, whatever the placement (mark_accessed
# cannot end a running storm either), and once it is calm, it stays calm. So
# there the cgroup is reclaimed, by memory.reclaim, at the switch, and again if
# that did not end it: how many pages come back as part of the working set hangs on
# when they were aged, and in two runs of ten too many did.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

# switched COLUMN AT FROM TO COMMAND WORKLOAD ARGS...: FROM until AT passes are
# finished, then COMMAND and TO; PASS[n] has the counter.
switched() {
	local column=$1 at=$2 from=$3 to=$4 command=$5 line
	shift 5
	need_module
	PASS=()
	while read -r line; do
		case $line in pass=*) PASS[$(value "$line" pass)]=$(value "$line" "$column") ;; esac
	done < <("$WORKLOAD" "$@" --per-pass \
		--setup "echo $from >$MGLRU/cgroup/\$WORKLOAD_CGROUP/mglru.policy" \
		--at "$at=echo $to >$MGLRU/cgroup/\$WORKLOAD_CGROUP/mglru.policy; $command" 2>/dev/null)
	say "$column a pass, $from for $at passes, then $to: ${PASS[*]}"
}

# Half of C's measured pages a pass, so half of its faults, and more scatter. The policy that loses in C is the kernel's own
# from 7.2 on, and has to be asked for before.
C=(C --limit 20M --readers 40 --warm 10000 --pages 10000 --passes 5)
case ${SERIES:-$(uname -r)} in
7.2* | 7.3*) LOSES=original ;;
6.14* | 6.15* | 6.16* | 6.17* | 6.18* | 6.19* | 7.0* | 7.1*) LOSES=mark_accessed_v3 STORMS=1 ;;
*) skip_all "no workload tells the policies apart on this series" ;;
esac

test_c_to_fault_youngest() {
	switched pgmajfault 3 "$LOSES" fault_youngest : "${C[@]}"
	between "pass 3 under $LOSES" 110 320 "${PASS[3]:-none}"
	between "pass 5, the second under fault_youngest" 0 90 "${PASS[5]:-none}"
}

test_c_from_fault_youngest() {
	switched pgmajfault 3 fault_youngest "$LOSES" : "${C[@]}"
	between "pass 3 under fault_youngest" 0 90 "${PASS[3]:-none}"
	between "pass 5, the second under $LOSES" 110 320 "${PASS[5]:-none}"
}

A=(A --limit 40M --file 60M --warm 1 --passes 14)
BEFORE=/tmp/refaults.$$
restore() { rm -f "$BEFORE"; }

# memory.reclaim ends with EAGAIN if it could not get all of it. The pass after it
# reads everything anew, which counts as refaults; from the next one on the
# policy shows.
test_a_storm_to_calm() {
	# shellcheck disable=SC2016 # for the workload's shell
	local reclaim='echo 38M >$WORKLOAD_CGROUP_DIR/memory.reclaim || :' \
		refaults='grep workingset_refault_file $WORKLOAD_CGROUP_DIR/memory.stat'
	local at again=()

	if [ -z "${STORMS:-}" ]; then
		SKIPPED="workload A judges placement on 6.14 to 7.1 only"
		return
	fi

	# Is there any refault in the pass before?
	for at in 5 8 11; do
		again+=(--at "$at=$refaults >$BEFORE")
		again+=(--at "$((at + 1))=$refaults | cmp -s - $BEFORE || $reclaim")
	done
	switched refault_file 3 original fault_youngest "$reclaim" "${A[@]}" "${again[@]}"
	between "pass 3 under original" 10000 100000 "${PASS[3]:-none}"
	between "pass 15 under fault_youngest" 0 0 "${PASS[15]:-none}"
	# It is not the reclaim that does it.
	switched refault_file 3 original original "$reclaim" "${A[@]}" "${again[@]}"
	between "pass 15 under original" 10000 100000 "${PASS[15]:-none}"
}

run_tests test_c_to_fault_youngest test_c_from_fault_youngest test_a_storm_to_calm
