#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# original everywhere: no hook on a memory path while a workload runs, shown by
# ftrace's own list. (proof-a and proof-c compare original with no module at all.)
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

OBSERVERS="mem_cgroup_css_offline mem_cgroup_css_online "

test_no_hook_while_a_workload_runs() {
	need_module
	# shellcheck disable=SC2016 # for the workload's shell
	"$WORKLOAD" C --limit 20M --readers 40 --warm 2000 --pages 2000 --at \
		"1=grep -E '$OUR_FUNCTIONS' $TRACING/enabled_functions >/tmp/idle.functions" \
		>/tmp/idle.out 2>&1 || fail "$(tail -n 1 /tmp/idle.out)"
	is "functions that ftrace holds" "$OBSERVERS" \
		"$(awk '{print $1}' /tmp/idle.functions | sort | tr '\n' ' ')"
	is "folio_add_lru" idle "$(hook_state folio_add_lru)"
}

test_no_hook_after_a_policy_was_used() {
	need_module
	cg a
	set_policy a fault_youngest
	ok "attached meanwhile" grep -q '^folio_add_lru ' "$TRACING/enabled_functions"
	set_policy a original
	is "functions that ftrace holds" "$OBSERVERS" "$(enabled_functions)"
}

run_tests test_no_hook_while_a_workload_runs test_no_hook_after_a_policy_was_used
