#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Unload while a task is preempted inside a replacement: rmmod waits for it, and
# ends when it has left. Needs CONFIG_PREEMPT, kprobes and mglru_test_park of
# tests/modules. Replacements that are entered with a spinlock held cannot be
# preempted but on PREEMPT_RT, and are not parked in.
# park.sh [test_NAME...]: only these.
# shellcheck disable=SC2086 # our paths have no blanks
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

PARK=/sys/module/mglru_test_park/parameters
LRU_GEN=/sys/kernel/debug/lru_gen
HOGS=''

hog() {
	for _ in $(seq "$(nproc)"); do
		while :; do :; done &
		HOGS+=" $!"
	done
}

restore() {
	[ ! -e $PARK/hold ] || echo 0 >$PARK/hold
	[ -z "$HOGS" ] || kill $HOGS 2>/dev/null
	HOGS=''
	! grep -q '^mglru_test_park ' /proc/modules || rmmod mglru_test_park
}

is_parked() { [ "$(cat $PARK/parked)" = 1 ]; }
was_preempted() { [ "$(cat $PARK/preempted)" -gt 0 ]; }
left() { [ ! -e "/proc/$1" ]; }

# parked_unload REPLACEMENT COMMAND...: the command comes to the replacement.
parked_unload() {
	local where=$1 task remover
	shift
	log_mark
	insmod "$MODULES/mglru_test_park.ko" func="mglru_policy:$where" ||
		{ fail "no probe in $where"; return; }
	"$@" &
	task=$!
	if wait_for 60 is_parked; then
		hog
		ok "preempted in $where" wait_for 60 was_preempted
		rmmod mglru_policy &
		remover=$!
		sleep 5
		ok "rmmod waits for $where" test -e /proc/$remover
		ok "the text of $where is there" grep -q '^mglru_policy ' /proc/modules
		ok "still parked in $where" is_parked
		is "gave up the CPU by itself in $where" 0 "$(cat $PARK/slept)"
		say "$where: preempted $(cat $PARK/preempted) times"
		echo 0 >$PARK/hold
		kill $HOGS
		HOGS=''
		ok "rmmod after $where" wait $remover
		is "gone after $where" no "$(loaded && echo yes || echo no)"
		WE_LOADED=
	else
		fail "nobody came to $where; $(cat $PARK/atomic_hits) passes could not be preempted"
		echo 0 >$PARK/hold
	fi
	ok "the task of $where" wait $task
	rmmod mglru_test_park
	ok "no complaint about $where" log_clean
}

test_folio_add_lru() {
	load || { fail "the module does not load"; return; }
	cg a
	set_policy a fault_youngest
	parked_unload mglru_folio_add_lru fault_in a
}

test_css_online() {
	load || { fail "the module does not load"; return; }
	cg p
	[ "$CGV" = 1 ] || echo +memory >"$CGROOT/$(cgpath p)/cgroup.subtree_control"
	parked_unload mglru_css_online mkdir "$CGROOT/$(cgpath p/x)"
}

# age NAME: make a generation; the memcg's number is in lru_gen.
age() {
	awk -v path="/$(cgpath "$1")" '/^memcg/ { ours = $3 == path; id = $2 }
		ours && !/^memcg/ && !/node/ { seq = $1 }
		ours && seq != "" { last = "+ " id " 0 " seq }
		!ours { seq = "" }
		END { print last }' $LRU_GEN >/tmp/park.age
	cat /tmp/park.age >$LRU_GEN
}

test_inc_max_seq() {
	load || { fail "the module does not load"; return; }
	cg a
	echo batched >"$(mdir a)/mglru.aging"
	fault_in a
	parked_unload mglru_inc_max_seq age a
}

[ -f "$MODULES/mglru_test_park.ko" ] || skip_all "no $MODULES/mglru_test_park.ko; build it in tests/modules"
uname -v | grep -q PREEMPT || skip_all "this kernel is not preemptible"
if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
[ $# = 0 ] || { run_tests "$@"; exit; }
run_tests test_folio_add_lru test_css_online test_inc_max_seq
