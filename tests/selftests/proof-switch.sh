#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Switched while running: a workload starts under one policy and is switched in
# the middle, both ways; within two passes the counters follow. Nothing is
# restarted, no cache dropped.
#
# Workload C follows by itself. Workload A does not: once it storms, every page
# comes back as part of the working set, whatever the placement (mark_accessed
# cannot end a running storm either), and once it is calm, it stays calm. So
# there the cgroup is reclaimed once, by memory.reclaim, at the switch.
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

# Half of C's measured pages a pass; stock 7.2 has about 180 major faults in them.
C=(C --limit 20M --readers 40 --warm 10000 --pages 10000 --passes 5)
c_only() {
	case ${SERIES:-$(uname -r)} in
	7.2* | 7.3*) ;;
	*) SKIPPED="the policies differ in workload C from 7.2 on"; return 1 ;;
	esac
}

test_c_original_to_fault_youngest() {
	c_only || return 0
	switched pgmajfault 3 original fault_youngest : "${C[@]}"
	between "pass 3 under original" 130 260 "${PASS[3]:-none}"
	between "pass 5, the second under fault_youngest" 0 60 "${PASS[5]:-none}"
}

test_c_fault_youngest_to_original() {
	c_only || return 0
	switched pgmajfault 3 fault_youngest original : "${C[@]}"
	between "pass 3 under fault_youngest" 0 60 "${PASS[3]:-none}"
	between "pass 5, the second under original" 130 260 "${PASS[5]:-none}"
}

a_only() {
	case ${SERIES:-$(uname -r)} in
	6.14* | 6.15* | 6.16* | 6.17* | 6.18* | 6.19* | 7.0* | 7.1*) ;;
	*) SKIPPED="workload A judges placement on 6.14 to 7.1 only"; return 1 ;;
	esac
}

# memory.reclaim ends with EAGAIN if it could not get all of it.
# shellcheck disable=SC2016 # for the workload's shell
RECLAIM='echo 38M >$WORKLOAD_CGROUP_DIR/memory.reclaim || :'
A=(A --limit 40M --file 60M --warm 1)

test_a_storm_to_calm() {
	a_only || return 0
	switched refault_file 3 original fault_youngest "$RECLAIM" "${A[@]}" --passes 5
	between "pass 3 under original" 10000 100000 "${PASS[3]:-none}"
	between "pass 5, the second under fault_youngest" 0 0 "${PASS[5]:-none}"
	between "pass 6" 0 0 "${PASS[6]:-none}"
}

test_a_calm_to_storm() {
	a_only || return 0
	switched refault_file 4 fault_youngest original "$RECLAIM" "${A[@]}" --passes 6
	between "pass 4 under fault_youngest" 0 0 "${PASS[4]:-none}"
	between "pass 6, the second under original" 10000 100000 "${PASS[6]:-none}"
	between "pass 7" 10000 100000 "${PASS[7]:-none}"
}

run_tests test_c_original_to_fault_youngest test_c_fault_youngest_to_original \
	test_a_storm_to_calm test_a_calm_to_storm
