#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workload B, text brought in outside a fault: with exec_promotion it stays, alone
# and with fault_youngest. On 7.3, which does it by itself, no_exec_promotion gives
# what 7.2 gives.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

RA8=(B --text 8M --case ra)
RA16=(B --text 16M --case ra)
CP8=(B --text 8M --case cp)
DEMAND8=(B --text 8M --case demand)

# Text major faults at most. 7.3 by itself has 3 to 26 (8M), 27 (16M) and 5 to 12
# (cp): what look-around promotes waits in a batch, from where reclaim may take it.
case ${SERIES:-$(uname -r)} in
6.18*) KEPT="0 40" KEPT16="0 60" ;;
7.2* | 7.3*) KEPT="0 20" KEPT16="0 40" ;;
*) skip_all "exec_promotion cannot be had, or has not been measured, on this series" ;;
esac
LOST="100 400" LOST16="200 800"

# expect POLICY RUNS RANGE CASE...
expect() {
	local policy=$1 range=$3
	RUNS=$2
	shift 3
	# shellcheck disable=SC2086 # two words
	measure "$policy" text_majflt $range "$@"
}

# shellcheck disable=SC2016 # for the shell that the workload starts
# The generations after the workload, youngest first: pages of anon and file.
GENERATIONS='awk -v path="/$WORKLOAD_CGROUP" "\$1 == \"memcg\" { on = \$3 == path; next }
	on && \$1 != \"node\" { print \$3 \"/\" \$4 }" /sys/kernel/debug/lru_gen | tac | tr "\n" " " >/tmp/generations'

# parity POLICY: with the same workload 7.2 under exec_promotion and 7.3 end alike.
parity() {
	expect "$1" 1 "$KEPT" "${RA8[@]}" --at "4=$GENERATIONS"
	read -r -a gens </tmp/generations
	say "PARITY ${SERIES:-$(uname -r)} $1: generations, youngest first, anon/file pages: ${gens[*]}"
	# What a pass calls is at least the 2048 pages of the text.
	between "$1: file pages in the two youngest" 2000 2600 $((${gens[0]#*/} + ${gens[1]#*/}))
}

test_stock_loses_text() {
	expect stock 1 "$LOST" "${RA8[@]}"
	expect stock 1 "$LOST16" "${RA16[@]}"
}
test_parity() { parity exec_promotion; }
test_parity_of_stock() { parity stock; }
test_exec_promotion() {
	expect exec_promotion "$N" "$KEPT" "${RA8[@]}"
	expect exec_promotion "$N" "$KEPT16" "${RA16[@]}"
	expect exec_promotion "$N" "$KEPT" "${CP8[@]}"
	expect exec_promotion "$N" "0 2" "${DEMAND8[@]}"
}
test_with_fault_youngest() {
	expect fault_youngest+exec_promotion "$N" "$KEPT" "${RA8[@]}"
	expect fault_youngest+exec_promotion "$N" "$KEPT16" "${RA16[@]}"
	expect fault_youngest+exec_promotion "$N" "$KEPT" "${CP8[@]}"
	expect fault_youngest+exec_promotion "$N" "0 2" "${DEMAND8[@]}"
}
test_stock_keeps_text() { expect stock 1 "$KEPT" "${RA8[@]}"; }
test_no_exec_promotion() {
	expect no_exec_promotion "$N" "$LOST" "${RA8[@]}"
	expect fault_youngest+no_exec_promotion "$N" "$LOST" "${RA8[@]}"
}
test_exec_promotion_is_native() { expect exec_promotion "$N" "$KEPT" "${RA8[@]}"; }

N=${RUNS:-3} VARY_SEED=1
case ${SERIES:-$(uname -r)} in
7.3*) run_tests test_stock_keeps_text test_no_exec_promotion test_exec_promotion_is_native test_parity_of_stock test_parity ;;
*) run_tests test_stock_loses_text test_exec_promotion test_with_fault_youngest test_parity ;;
esac
