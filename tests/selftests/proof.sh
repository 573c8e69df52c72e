# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# For the proof-*.sh: run a workload under a policy, in a guest that counts
# instructions, and print a table; the stock kernel without the module comes
# first. Source after lib.sh.

RUNS=${RUNS:-3}
WORKLOAD=${WORKLOAD:-$(dirname "$0")/../workloads/workload.sh}
RESULTS=()

[ "$CGV" = 2 ] || skip_all "the workloads need cgroup v2"

value() { sed -n "s/.*\<$2=\([0-9]*\).*/\1/p" <<<"$1"; }

# measure POLICY COLUMN LOW HIGH WORKLOAD ARGS...: RUNS runs; the median of COLUMN
# must be between LOW and HIGH, and if HIGH is 0, every run. LINE is the last run's
# result. POLICY stock: without the module. The runs have the same seed, or with
# VARY_SEED=1 each another one.
measure() {
	local policy=$1 column=$2 low=$3 high=$4 run line v setup=: seed=()
	shift 4
	if [ "$policy" = stock ]; then
		loaded && unload
	else
		loaded || load || { fail "cannot load the module"; return; }
		setup="echo $policy >$MGLRU/cgroup/\$WORKLOAD_CGROUP/mglru.policy"
	fi
	RESULTS=()
	for run in $(seq "$RUNS"); do
		[ -z "${VARY_SEED:-}" ] || seed=(--seed "$run")
		if ! line=$("$WORKLOAD" "$@" "${seed[@]}" --setup "$setup" 2>"/tmp/workload.$$"); then
			fail "$policy, run $run: $(tail -n 1 "/tmp/workload.$$")"
			continue
		fi
		v=$(value "$line" "$column")
		# shellcheck disable=SC2034 # for those who have sourced this
		LINE=$line
		say "$(printf '%-17s run %s  refault_file %7s  pgmajfault %6s  text_majflt %4s  sys %6s ms  (%s)' \
			"$policy" "$run" "$(value "$line" refault_file)" "$(value "$line" pgmajfault)" \
			"$(value "$line" text_majflt)" "$(value "$line" sys_ms)" "$*")"
		echo "RESULT series=${SERIES:-$(uname -r)} policy=$policy run=$run $line"
		RESULTS+=("${v:-none}")
		[ "$high" != 0 ] || is "$policy, run $run: $column" 0 "${v:-none}"
	done
	between "$policy: median of $column" "$low" "$high" "$(median "${RESULTS[@]}")"
}

# The middle one, or "none".
median() {
	[ $# -gt 0 ] || { echo none; return; }
	printf '%s\n' "$@" | sort -n | sed -n "$((($# + 1) / 2))p"
}
