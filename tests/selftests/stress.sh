#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# stress.sh [ROUNDS]: load, unload, switch and read while the kernel reclaims as
# hard as it can: workload C in a small cgroup, and memory.reclaim in a loop.
# ROUNDS of loading and unloading, 20 by default.
# stress.sh ROUNDS test_NAME...: only these.
# shellcheck disable=SC2086,SC2016 # our paths have no blanks; eval expands
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

ROUNDS=${1:-20}
POLICIES=(set_active mark_accessed mark_accessed_v3 readahead_credit fault_youngest)
# Before 6.14 there is none; on each later kernel one of the two redirects the most.
case ${SERIES:-$(uname -r)} in
6.12*) ;;
*) POLICIES+=(fault_youngest+exec_promotion mark_accessed+no_exec_promotion) ;;
esac
WORKLOAD=$(dirname "$0")/../workloads/workload.sh
ENABLED=/sys/kernel/mm/lru_gen/enabled
CPU1=/sys/devices/system/cpu/cpu1/online
LOG=$(mktemp -d)
LOOPS=()

restore() {
	end_loops
	[ -z "${OLD_ENABLED:-}" ] || echo "$OLD_ENABLED" >$ENABLED
	[ -z "${OLD_CPU1:-}" ] || echo "$OLD_CPU1" >$CPU1
	rm -rf "$LOG"
}

# loop COMMAND...: again and again in the background, until end_loops.
loop() {
	touch "$LOG/go"
	while [ -e "$LOG/go" ]; do "$@"; done &
	LOOPS+=($!)
}

end_loops() {
	rm -f "$LOG/go"
	if [ -n "${WORKER:-}" ]; then
		kill -TERM $WORKER 2>/dev/null
		echo 1 >"$CGROOT/$(cgpath work)/cgroup.kill"
	fi
	WORKER=
	wait
	LOOPS=()
}

reclaim() { echo 2M >"$CGROOT/$(cgpath work)/memory.reclaim" 2>/dev/null; }

major_faults() { awk '$1 == "pgmajfault" {print $2}' "$CGROOT/$(cgpath work)/memory.stat"; }
more_faults_than() { [ "$(major_faults)" -gt "$1" ]; }

# begin_load: workload C and reclaim, for the rest of the test.
begin_load() {
	cg work
	# Runs until it is killed.
	"$WORKLOAD" C --cgroup "$(cgpath work)" --limit 10M --readers 20 --file 160M \
		--warm 100 --pages 1000000000 >"$LOG/workload" 2>&1 &
	WORKER=$!
	if ! wait_for 60 more_faults_than 20; then
		fail "workload C does not run: $(tail -n 2 "$LOG/workload" | tr '\n' ' ')"
		return 1
	fi
	loop reclaim
}

decided_more_than() { [ "$(decisions work)" -gt "$1" ]; }

# still_running WHEN: the workload makes progress.
still_running() {
	ok "workload C goes on $1" wait_for 20 more_faults_than "$(major_faults)"
}

test_load_and_unload() {
	local i p start=$SECONDS total=0
	begin_load || return
	for ((i = 1; i <= ROUNDS; i++)); do
		p=${POLICIES[i % ${#POLICIES[@]}]}
		ok "load $i" load || return
		ok "set $p ($i)" set_policy work $p
		ok "decisions under $p ($i)" wait_for 20 decided_more_than 0
		total=$((total + $(decisions work)))
		ok "unload $i" unload || return
		is "hooks left behind ($i)" "" "$(enabled_functions)"
		ok "no sysfs entry ($i)" test ! -e $MGLRU
		ok "not listed ($i)" eval '! loaded'
		[ $((i % 5)) != 0 ] || say "$i of $ROUNDS rounds, $((SECONDS - start)) s"
	done
	still_running "after the last unloading"
	say "loaded and unloaded $ROUNDS times in $((SECONDS - start)) s, $total decisions"
	end_loops
}

# A policy set, and unloaded at once: hooks go while the first folios that they
# marked still wait in their batches.
test_unload_at_once() {
	local i
	begin_load || return
	for i in 1 2 3; do
		ok "load $i" load policy=${POLICIES[i % ${#POLICIES[@]}]}
		ok "unload $i" unload
		is "hooks left behind ($i)" "" "$(enabled_functions)"
	done
	still_running "afterwards"
	end_loops
}

# Counters never fall, and every line is there. The balance of credit is no counter,
# but must never have fallen below nothing.
watch_stat() {
	awk -v file="$1" -v lines="$(wc -l <"$1")" 'BEGIN {
		getline end <"/dev/null"
		for (i = 0; i < 40; i++) {
			n = 0
			while ((getline <file) > 0) {
				n++
				if ($1 == "credit_balance") {
					if ($2 > 1e9)
						print $1, "is", $2
					continue
				}
				if ($2 + 0 < old[$1] + 0)
					print $1, "fell from", old[$1], "to", $2
				old[$1] = $2
			}
			close(file)
			if (n != lines)
				print n, "lines"
		}
	}' >>"$LOG/stat"
}

test_switch_while_faulting() {
	local i p n=0 start=$SECONDS
	begin_load || return
	ok load load
	: >"$LOG/stat"
	loop watch_stat "$(mdir work)/mglru.stat"
	for ((i = 0; SECONDS < start + 15; i++)); do
		case $((i % 7)) in
		5) p=inherit ;;
		6) p=original ;;
		*) p=${POLICIES[i % 7]} ;;
		esac
		set_policy work $p || fail "set $p"
		[ "$(asked work)" = $p ] || fail "asked is not $p"
		n=$((n + 1))
	done
	say "switched $n times in $((SECONDS - start)) s, $(decisions work) decisions"
	between "switches" 5 1000000 $n
	set_policy work fault_youngest
	ok "decisions after the last switch" wait_for 20 decided_more_than "$(decisions work)"
	is "what the counters did wrong" "" "$(sort "$LOG/stat" | uniq -c | head -n 3)"
	still_running "under switching"
	ok unload unload
	is "hooks left behind" "" "$(enabled_functions)"
	end_loops
}

read_all() { cat $MGLRU/hooks "$(mdir work)"/mglru.* >/dev/null 2>&1; }
write_all() { { echo ${POLICIES[RANDOM % 4]} >"$(mdir work)/mglru.policy"; } 2>/dev/null; }

# Files held open, read and written when the module goes.
test_unload_with_open_files() {
	local i e
	begin_load || return
	for i in 1 2; do
		ok "load $i" load
		set_policy work fault_youngest
		exec 5<"$(mdir work)/mglru.stat" 6<$MGLRU/hooks 7>"$(mdir work)/mglru.policy" 8<"$MGLRU/cgroup"
		ok "read one" eval 'read -r _ <&5'
		[ $i != 1 ] || { loop read_all; loop read_all; loop write_all; }
		ok "decisions ($i)" wait_for 20 decided_more_than 0
		ok "unload $i" unload
		ok "no sysfs entry ($i)" test ! -e $MGLRU
		is "hooks left behind ($i)" "" "$(enabled_functions)"
		e=$(LC_ALL=C cat <&6 2>&1 >/dev/null)
		is "reading afterwards ($i)" "No such device" "${e##*: }"
		e=$( (LC_ALL=C; echo original >&7) 2>&1)
		is "writing afterwards ($i)" "No such device" "${e##*: }"
		exec 5<&- 6<&- 7>&- 8<&-
	done
	end_loops
}

# The multi-gen LRU is switched off and on under policies.
test_lru_gen_switched_while_faulting() {
	local i n
	begin_load || return
	ok load load
	OLD_ENABLED=$(cat $ENABLED)
	for i in 1 2 3; do
		set_policy work ${POLICIES[i % 4]}
		echo 0 >$ENABLED
		sleep 0.3
		echo "$OLD_ENABLED" >$ENABLED
		n=$(decisions work)
		ok "decisions ($i)" wait_for 20 decided_more_than $n
	done
	echo 0 >$ENABLED
	ok "unload while it is off" unload
	echo "$OLD_ENABLED" >$ENABLED
	OLD_ENABLED=
	still_running "afterwards"
	end_loops
}

# Patching code takes the CPU hotplug lock.
# shellcheck disable=SC2034 # run_tests prints SKIPPED
test_cpu_hotplug_while_switching() {
	local i
	if [ -z "${SERIES:-}" ]; then
		SKIPPED="takes a CPU offline: in guests only"
		return
	elif [ ! -w $CPU1 ]; then
		SKIPPED="there is no second CPU that can go offline"
		return
	fi
	begin_load || return
	ok load load
	OLD_CPU1=$(cat $CPU1)
	loop write_all
	loop cg_churn
	for i in 1 2; do
		ok "CPU 1 goes ($i)" eval 'echo 0 >$CPU1'
		ok "CPU 1 comes ($i)" eval 'echo 1 >$CPU1'
	done
	OLD_CPU1=
	still_running "afterwards"
	ok unload unload
	is "hooks left behind" "" "$(enabled_functions)"
	end_loops
}

cg_churn() {
	mkdir $CGROOT/$CG_PARENT/churn && rmdir $CGROOT/$CG_PARENT/churn
}

[[ $ROUNDS =~ ^[1-9][0-9]*$ ]] || { echo "stress.sh [ROUNDS]: ROUNDS is a number, not \"$ROUNDS\"" >&2; exit 2; }
if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
if [ "$CGV" = 1 ]; then skip_all "workload C and memory.reclaim need cgroup v2"; fi
[ -x "$WORKLOAD" ] || skip_all "no $WORKLOAD"
[ $# = 0 ] || shift
[ $# = 0 ] || { run_tests "$@"; exit; }
run_tests test_load_and_unload test_unload_at_once test_switch_while_faulting \
	test_unload_with_open_files test_lru_gen_switched_while_faulting \
	test_cpu_hotplug_while_switching
