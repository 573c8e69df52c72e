#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workloads A and C with original and with batched aging: refaults and major
# faults must not become more. Left alone they fold little or nothing, so C is also
# run while its cgroup is aged five times a second.
#
# test_a_aged does the same to A, and is only run when asked for: there batched is
# worse, on 6.18 by 44 % (medians of five: 21 413 and 30 986 refaults). A goes round
# and round in more than fits. The closer the order is to that of use, the surer
# a page is gone just before its turn; turning it around, as original does, spares
# some. Not aged, A has 28 200 under either.
# RUNS of each, 1 by default; runs scatter by some 10 %.
# proof-aging-refaults.sh test_NAME...: only these.
RUNS=${RUNS:-1}
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

# Percent of original, and so many more: with nothing folded, C scattered by 8 to 12.
MOST=130
MORE=20
GO=/tmp/aging-go.$$

restore() { rm -f "$GO"; }

# Ages the test's cgroup for as long as the workload runs.
keep_aging() {
	local line
	while [ -e "$GO" ]; do
		line=$(awk -v path="/$(cgpath w)" '/^memcg/ {ours = $3 == path; if (ours) id = $2; next}
			ours && /node/ {node = $2; next} ours {seq = $1} END {print "+", id, node, seq}' \
			/sys/kernel/debug/lru_gen)
		{ echo "$line" >/sys/kernel/debug/lru_gen; } 2>/dev/null
		sleep 0.2
	done
}

# one AGING AGED COLUMN WORKLOAD...: the median of RUNS, left in MEDIAN
one() {
	local aging=$1 aged=$2 column=$3 run line ager values=()
	shift 3
	for run in $(seq "$RUNS"); do
		cg w
		if [ "$aged" = aged ]; then touch "$GO"; fi
		keep_aging &
		ager=$!
		line=$("$WORKLOAD" "$@" --cgroup "$(cgpath w)" \
			--setup "echo $aging >$MGLRU/cgroup/$(cgpath w)/mglru.aging" 2>"/tmp/workload.$$") ||
			fail "$aging, run $run: $(tail -n 1 "/tmp/workload.$$")"
		rm -f "$GO"
		wait "$ager"
		echo "RESULT series=${SERIES:-$(uname -r)} aging=$aging run=$run $line"
		say "$(printf '%-9s refault_file %7s  pgmajfault %6s  sys %6s ms  folded %s  (%s)' "$aging" \
			"$(value "$line" refault_file)" "$(value "$line" pgmajfault)" "$(value "$line" sys_ms)" \
			"$(stat_of w aging_folded)" "$*")"
		values+=("$(value "$line" "$column")")
		[ "$aging-$aged" != batched-aged ] || between "folios folded" 1000 100000000 "$(stat_of w aging_folded)"
		rmdir "$CGROOT/$(cgpath w)"
	done
	MEDIAN=$(median "${values[@]}")
}

compare() {
	local original
	need_module
	one original "$@"
	original=$MEDIAN
	one batched "$@"
	between "$2" 0 $((original * MOST / 100 + MORE)) "$MEDIAN"
}

test_a() { compare alone refault_file A --limit 40M --file 60M --warm 2 --passes 2; }
test_c() { compare alone pgmajfault C --limit 20M --readers 40 --warm 10000 --pages 10000; }
test_a_aged() { compare aged refault_file A --limit 40M --file 60M --warm 2 --passes 2; }
test_c_aged() { compare aged pgmajfault C --limit 20M --readers 40 --warm 10000 --pages 10000; }

case ${SERIES:-$(uname -r)} in
6.12*) skip_all "batched aging is unavailable on this kernel (before 6.14)" ;;
# From 7.2 on nothing refaults in A: read-around is given up.
7.*) TESTS=(test_c test_c_aged) ;;
*) TESTS=(test_a test_c test_c_aged) ;;
esac
[ $# = 0 ] || TESTS=("$@")
run_tests "${TESTS[@]}"
