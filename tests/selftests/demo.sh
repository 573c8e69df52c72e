#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# What make demo runs in the guest: two cgroups read files with workload C at the
# same time, and the policy of each is switched while its program runs, through
# all placements, in opposite orders. On kernels where workload A judges
# placement, that too, a fresh cgroup for each policy.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

FORTH=(original set_active mark_accessed_v3 mark_accessed fault_youngest)
BACK=(fault_youngest mark_accessed mark_accessed_v3 set_active original)

# live NAME POLICY...: one program, two passes under each policy; the first lets the
# cgroup follow, the second is reported.
live() {
	local name=$1 n at=() line
	shift
	for n in $(seq $#); do
		[ "$n" = $# ] || at+=(--at "$((2 * n + 1))=echo ${*:n+1:1} >$(mdir "$name")/mglru.policy")
	done
	DATA=$DATA/$name "$WORKLOAD" C --limit 20M --readers 40 --warm 10000 --pages 10000 \
		--passes $((2 * $#)) --per-pass --cgroup "$(cgpath "$name")" "${at[@]}" \
		2>"/tmp/demo.$name" | while read -r line; do
		n=$(value "$line" pass)
		case $line in pass=*) ;; *) continue ;; esac
		if [ "$n" = 1 ] || [ $((n % 2)) = 0 ]; then continue; fi
		echo "RESULT workload=C cgroup=$name policy=${*:(n-1)/2:1} $line"
		say "cgroup $name, under ${*:(n-1)/2:1}: $(value "$line" pgmajfault) major faults, $(value "$line" refault_file) refaults"
		touch "/tmp/demo.$name.$n"
	done
	[ -e "/tmp/demo.$name.$((2 * $# + 1))" ] || fail "$name: $(tail -n 1 "/tmp/demo.$name")"
}

test_switch_two_running_cgroups() {
	need_module
	export DATA=${DATA:-/data}
	mkdir -p "$DATA/db" "$DATA/web"
	cg; cg db; cg web
	set_policy web "${BACK[0]}"
	(live web "${BACK[@]}"; [ -z "$FAILED" ]) &
	live db "${FORTH[@]}"
	wait $! || fail "the cgroup web"
	say "hooks while they ran: $(awk '{printf "%s %s; ", $1, $3}' "$MGLRU/hooks")"
	rm -rf "$DATA/db" "$DATA/web"
}

test_workload_a() {
	local p line
	case ${SERIES:-$(uname -r)} in
	6.14* | 6.15* | 6.16* | 6.17* | 6.18* | 6.19* | 7.0* | 7.1*) ;;
	*) SKIPPED="workload A judges placement on 6.14 to 7.1 only"; return ;;
	esac
	need_module
	for p in "${FORTH[@]}"; do
		line=$("$WORKLOAD" A --limit 40M --file 60M --warm 2 --passes 2 \
			--setup "echo $p >$MGLRU/cgroup/\$WORKLOAD_CGROUP/mglru.policy" 2>/tmp/demo.a) ||
			fail "$p: $(tail -n 1 /tmp/demo.a)"
		say "under $p: $(value "$line" refault_file) refaults, $(value "$line" pgmajfault) major faults"
		echo "RESULT cgroup=a policy=$p $line"
	done
}

run_tests test_switch_two_running_cgroups test_workload_a
