#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# readahead_credit over time: workload A, then C, then A in one cgroup, beside
# mark_accessed_v3. Prints "BALANCE" lines, of which tests/credit.gnuplot makes a
# picture. test_mixed, A and C at once under each placement, and test_sizes, A with
# many sizes, take minutes and are only run when asked for: credit-balance.sh test_mixed
. "$(dirname "$0")/lib.sh"
RUNS=1
. "$(dirname "$0")/proof.sh"

case ${SERIES:-$(uname -r)} in
6.1[4-9]* | 7.[01]*) ;;
*) skip_all "workload A judges placement on 6.14 to 7.1 only" ;;
esac

GO=/tmp/credit-go.$$
restore() { rm -f "$GO"; }

# What mglru.stat says, ten times a second: seconds, phase, balance, earned, spent, expired.
sample() {
	local start=${EPOCHREALTIME//[!0-9]/} s
	while [ -e "$GO" ]; do
		declare -A s=()
		while read -r key value; do [ -z "$key" ] || s[$key]=$value; done <"$(mdir a)/mglru.stat"
		echo "BALANCE $(((${EPOCHREALTIME//[!0-9]/} - start) / 1000)) $(<"$GO") ${s[credit_balance]} ${s[credit_earned]} ${s[credit_spent]} ${s[credit_expired]}"
		sleep 0.1
	done
}

# phase NAME WORKLOAD...: in the cgroup a
phase() {
	local earned spent hits
	earned=$(stat_of a credit_earned) spent=$(stat_of a credit_spent) hits=$(stat_of a readahead_hits)
	[ ! -e "$GO" ] || echo "$1" >"$GO"
	"$WORKLOAD" "${@:2}" --cgroup "$(cgpath a)" >/tmp/phase.$$ 2>&1 || fail "$1: $(tail -n 1 /tmp/phase.$$)"
	EARNED=$(($(stat_of a credit_earned) - earned)) SPENT=$(($(stat_of a credit_spent) - spent))
	HITS=$(($(stat_of a readahead_hits) - hits))
	REFAULTS=$(value "$(</tmp/phase.$$)" refault_file)
	say "$(printf '%-17s %-2s refault_file %6s  pgmajfault %5s  earned %7s  spent %6s  balance %6s  hits %s' "$(effective a)" "$1" \
		"$REFAULTS" "$(value "$(</tmp/phase.$$)" pgmajfault)" "$EARNED" "$SPENT" "$(stat_of a credit_balance)" "$HITS")"
}

# sequence POLICY: A, C, A
sequence() {
	cg a
	set_policy a "$1"
	phase A "${A[@]}"
	FIRST=$REFAULTS SPENT_IN_A=$SPENT HITS_IN_A=$HITS
	phase C "${C[@]}"
	EARNED_IN_C=$EARNED SPENT_IN_C=$SPENT
	phase A2 "${A[@]}"
}
A=(A --limit 40M --file 60M --warm 4 --passes 4)
C=(C --limit 20M --readers 40 --warm 10000 --pages 20000)

test_strided_sequential_strided() {
	local sampler first second
	need_module
	sequence mark_accessed_v3
	first=$FIRST second=$REFAULTS
	is "spent under another policy" 0 "$SPENT"
	rmdir "$CGROOT/$(cgpath a)"

	echo start >"$GO"
	(wait_for 60 test -e "$(mdir a)/mglru.stat" && sample) &
	sampler=$!
	sequence readahead_credit
	# The hits are in the program's own text.
	between "hits in A and in A after C" 0 16 $((HITS_IN_A + HITS))
	between "spent in A" 0 $((HITS_IN_A * 128)) "$SPENT_IN_A"
	between "credit earned in C" 1000 100000000 "$EARNED_IN_C"
	between "credit spent in C" 1000 100000000 "$SPENT_IN_C"
	between "spent in A after C" 0 $((HITS * 128)) "$SPENT"
	# Not judged: with the same placement, some sizes of the file settle late (test_sizes).
	say "refaults in the last passes of A: $FIRST, after C: $REFAULTS; mark_accessed_v3: $first, $second"
	# Generations without any use: what is left fades.
	for _ in 1 2 3 4 5 6 7 8; do
		awk -v path="/$(cgpath a)" '/^memcg/ {ours = $3 == path; if (ours) id = $2; next}
			ours && /node/ {node = $2; next} ours {seq = $1} END {print "+", id, node, seq}' \
			/sys/kernel/debug/lru_gen >/tmp/age.$$
		cat /tmp/age.$$ >/sys/kernel/debug/lru_gen
		sleep 0.3
	done
	rm -f "$GO"
	wait "$sampler"
	is "every page is in one place" "$(stat_of a credit_earned)" \
		$(($(stat_of a credit_balance) + $(stat_of a credit_spent) + $(stat_of a credit_expired)))
	between "balance after the unused generations" 0 6000 "$(stat_of a credit_balance)"
}

# How soon A settles differs from run to run. So many sizes, and the sums.
test_sizes() {
	local size p passes
	declare -A sum=()
	need_module
	for size in 52 54 55 57 58 59 60 61 62 63 65; do
		for p in mark_accessed_v3 readahead_credit; do
			cg a
			set_policy a "$p"
			"$WORKLOAD" A --limit 40M --file "${size}M" --warm 4 --passes 4 --per-pass --cgroup "$(cgpath a)" >/tmp/phase.$$ 2>&1 ||
				fail "$size: $(tail -n 1 /tmp/phase.$$)"
			passes=$(sed -nE 's/^pass=.*refault_file=([0-9]*).*/\1/p' /tmp/phase.$$ | tr '\n' ' ')
			REFAULTS=$(value "$(tail -n 1 /tmp/phase.$$)" refault_file)
			say "A, ${size}M: $(printf %-17s "$p") refaults a pass: $passes spent $(stat_of a credit_spent)"
			sum[$p]=$((${sum[$p]:-0} + REFAULTS))
			rmdir "$CGROOT/$(cgpath a)"
		done
		rm -f "$DATA/mglru-data-${size}M"
	done
	say "refaults in passes 5 to 8, all sizes: mark_accessed_v3 ${sum[mark_accessed_v3]}, readahead_credit ${sum[readahead_credit]}"
	between "beside mark_accessed_v3" 0 $((sum[mark_accessed_v3] * 2 + 10000)) "${sum[readahead_credit]}"
}

# both POLICY: A and C at once in one cgroup; the cgroup's counters.
both() {
	local before after
	cg m
	set_policy m "$1"
	before=$(cat "$CGROOT/$(cgpath m)/memory.stat")
	"$WORKLOAD" A --limit 60M --file 60M --warm 0 --passes 6 --cgroup "$(cgpath m)" >/dev/null 2>&1 &
	"$WORKLOAD" C --limit 60M --readers 40 --warm 10000 --pages 20000 --cgroup "$(cgpath m)" >/dev/null 2>&1
	wait
	after=$(cat "$CGROOT/$(cgpath m)/memory.stat")
	MAJOR=$(($(awk '$1 == "pgmajfault" {print $2}' <<<"$after") - $(awk '$1 == "pgmajfault" {print $2}' <<<"$before")))
	say "$(printf 'A and C, 60M: %-17s refault_file %7s  pgmajfault %6s' "$1" "$(awk '$1 == "workingset_refault_file" {print $2}' <<<"$after")" "$MAJOR")"
	rmdir "$CGROOT/$(cgpath m)"
}

test_mixed() {
	local p active
	need_module
	for p in original set_active mark_accessed_v3 mark_accessed fault_youngest readahead_credit; do
		both "$p"
		[ "$p" != set_active ] || active=$MAJOR
	done
	between "readahead_credit beside set_active" 1 $((active * 110 / 100)) "$MAJOR"
}

if [ $# = 0 ]; then set -- test_strided_sequential_strided; fi
run_tests "$@"
