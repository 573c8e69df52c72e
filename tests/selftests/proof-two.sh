#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Two cgroups side by side under different policies: each behaves as if alone,
# and the neighbour at original shows the stock kernel's counters.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

# The pair that differs most on the series, with the bounds that hold alone, a
# little wider: one of the two drops the other's caches when it starts.
case ${SERIES:-$(uname -r)} in
7.2* | 7.3*)
	W=(C --limit 20M --readers 40 --warm 10000 --pages 20000)
	COLUMN=pgmajfault ORIGINAL="250 440" YOUNGEST="0 110"
	;;
6.18*)
	W=(A --limit 40M --file 60M --warm 4 --passes 4)
	COLUMN=refault_file ORIGINAL="40000 100000" YOUNGEST="0 0"
	;;
*) skip_all "no workload tells the policies apart on this series" ;;
esac

# Off for both, or the first to end switches it on again for the other.
DAMON=/sys/module/damon_stat/parameters/enabled
OLD_DAMON=$(cat $DAMON 2>/dev/null)
[ "$OLD_DAMON" != Y ] || echo N >$DAMON
restore() { [ "$OLD_DAMON" != Y ] || echo Y >"$DAMON"; }

test_side_by_side() {
	local a b
	need_module
	# A file each: page cache belongs to the cgroup that touched it first.
	export DATA=${DATA:-/data}
	mkdir -p "$DATA/one" "$DATA/two"
	DATA=$DATA/one "$WORKLOAD" "${W[@]}" >/tmp/two.first 2>&1 ||
		fail "first run: $(tail -n 1 /tmp/two.first)"
	cg; cg one; cg two
	set_policy two fault_youngest
	DATA=$DATA/one "$WORKLOAD" "${W[@]}" --cgroup "$(cgpath one)" >/tmp/two.one 2>/tmp/two.one.err &
	DATA=$DATA/two "$WORKLOAD" "${W[@]}" --cgroup "$(cgpath two)" >/tmp/two.two 2>/tmp/two.two.err
	wait
	[ -s /tmp/two.one ] || fail "one: $(tail -n 1 /tmp/two.one.err)"
	[ -s /tmp/two.two ] || fail "two: $(tail -n 1 /tmp/two.two.err)"
	rm -rf "$DATA/one" "$DATA/two"
	a=$(value "$(</tmp/two.one)" "$COLUMN") b=$(value "$(</tmp/two.two)" "$COLUMN")
	say "$COLUMN: at original ${a:-none}, at fault_youngest ${b:-none}, original alone before $(value "$(</tmp/two.first)" "$COLUMN")"
	# shellcheck disable=SC2086 # two words
	between "the neighbour at original" $ORIGINAL "${a:-none}"
	# shellcheck disable=SC2086
	between "fault_youngest" $YOUNGEST "${b:-none}"
	is "decisions in the neighbour" "0 0 0" \
		"$(stat_of one add_active) $(stat_of one add_accessed) $(stat_of one add_youngest)"
	between "decisions under fault_youngest" 1000 10000000 "$(stat_of two add_youngest)"
}

run_tests test_side_by_side
