#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# mglru.aging: the file, the hook, the order of a generation after folding, and
# the kernel's sizes against a recount after everything has happened at once.
# aging.sh [SECONDS]: how long that goes on, 30 by default.
. "$(dirname "$0")/lib.sh"

TIME=${1:-30}
BIN=${WORKLOAD_BIN:-/mglru/bin}
SWAP=
LOOPS=()
OBSERVERS="mem_cgroup_css_offline mem_cgroup_css_online "

[ "$CGV" = 2 ] || skip_all "needs cgroup v2 (memory.reclaim, cgroup.freeze)"

# Before 6.14 it cannot be had.
HAVE_BATCHED=1
case ${SERIES:-$(uname -r)} in 6.12*) HAVE_BATCHED= ;; esac

aging() { cat "$(mdir "$1")/mglru.aging"; }
effective_aging() { cat "$(mdir "$1")/mglru.effective_aging"; }
set_aging() { echo "$2" >"$(mdir "$1")/mglru.aging"; }

restore() {
	end_loops
	[ -z "$SWAP" ] || { swapoff "$SWAP" && rm -f "$SWAP"; }
}

# Anonymous memory is only aged where it could be swapped out.
make_swap() {
	[ "$(wc -l </proc/swaps)" = 1 ] || return 0
	SWAP=$DATA/mglru-swap.$$
	(umask 077 && dd if=/dev/zero of="$SWAP" bs=1M count=256 status=none) &&
		mkswap "$SWAP" >/dev/null && swapon "$SWAP"
}

# loop COMMAND...: again and again in the background, until end_loops.
loop() {
	touch "/tmp/aging-go.$$"
	while [ -e "/tmp/aging-go.$$" ]; do "$@"; done &
	LOOPS+=($!)
}

end_loops() {
	rm -f "/tmp/aging-go.$$"
	[ ${#LOOPS[@]} = 0 ] || wait "${LOOPS[@]}"
	LOOPS=()
}

test_file() {
	local f
	need_module
	cg; cg a
	f=$(mdir a)/mglru.aging
	is "mode" 644 "$(stat -c %a "$f")"
	is "mode of the effective one" 444 "$(stat -c %a "$(mdir a)/mglru.effective_aging")"
	is "root's" original "$(cat "$MGLRU/cgroup/mglru.aging")"
	is "a cgroup's" inherit "$(aging a)"
	is "in force" original "$(effective_aging a)"
	log_mark
	is "unknown word" "Invalid argument" "$(write_error nonsense "$f")"
	ok "the log names it" log_has "a/mglru.aging: 'nonsense': write inherit, original or batched"
	is "a policy" "Invalid argument" "$(write_error fault_youngest "$f")"
	is "newline alone" "Invalid argument" "$(write_error '\n' "$f")"
	is "two newlines" "Invalid argument" "$(write_error 'original\n\n' "$f")"
	is "part of a word" "Invalid argument" "$(write_error batch "$f")"
	is "two words" "Invalid argument" "$(write_error 'batched+original' "$f")"
	is "4 KiB of garbage" "Invalid argument" "$(write_error "$(head -c 3000 /dev/urandom | base64 -w0)" "$f")"
	is "batched as a policy" "Invalid argument" "$(write_error batched "$(mdir a)/mglru.policy")"
	is "inherit at the root" "Invalid argument" "$(write_error inherit "$MGLRU/cgroup/mglru.aging")"
	is "nothing has changed" "inherit original" "$(aging a) $(effective_aging a)"
	is "original" 0 "$(write_error original "$f")"
	is "inherit" 0 "$(write_error 'inherit\n' "$f")"
	is "functions that ftrace holds" "$OBSERVERS" "$(enabled_functions)"
}

test_unavailable() {
	need_module
	cg a
	ok "a reason is given" grep -q '^aging=batched: before 6.14 inc_max_seq.*isra' "$MGLRU/unavailable"
	is "not available" 0 "$(grep -c batched "$MGLRU/available")"
	log_mark
	is "writing it" "Operation not supported" "$(write_error batched "$(mdir a)/mglru.aging")"
	ok "the log says why" log_has "a/mglru.aging: 'batched': before 6.14 inc_max_seq"
	is "nothing has changed" "inherit original" "$(aging a) $(effective_aging a)"
	is "the hook was not looked for" "" "$(hook_state inc_max_seq)"
}

# It inherits by itself, whatever the policy does, and the hook goes with it.
test_inheritance() {
	need_module
	cg; cg a
	echo +memory >"$CGROOT/$(cgpath a)/cgroup.subtree_control"
	cg a/c
	ok "available" grep -qx "aging=batched" "$MGLRU/available"
	is "hook" idle "$(hook_state inc_max_seq)"
	set_aging a batched
	is "hook" attached "$(hook_state inc_max_seq)"
	is "users" 1 "$(awk '$1 == "inc_max_seq" {print $4}' "$MGLRU/hooks")"
	is "functions that ftrace holds" "inc_max_seq $OBSERVERS" "$(enabled_functions)"
	is "child" "inherit batched" "$(aging a/c) $(effective_aging a/c)"
	is "its policy" "inherit original" "$(asked a/c) $(effective a/c)"
	set_policy a set_active
	is "child's policy" "set_active batched" "$(effective a/c) $(effective_aging a/c)"
	set_policy a/c fault_youngest
	set_aging a/c original
	is "child by itself" "fault_youngest original" "$(effective a/c) $(effective_aging a/c)"
	set_policy a inherit
	is "aging stays" "original batched" "$(effective a) $(effective_aging a)"
	is "folio_add_lru, for the child" attached "$(hook_state folio_add_lru)"
	set_policy a/c inherit
	set_aging a/c inherit
	cg a/d
	is "born below" batched "$(effective_aging a/d)"
	echo batched >"$MGLRU/cgroup/mglru.aging"
	set_aging a inherit
	is "from the root" batched "$(effective_aging a/d)"
	set_aging a/d batched
	is "users" 2 "$(awk '$1 == "inc_max_seq" {print $4}' "$MGLRU/hooks")"
	echo original >"$MGLRU/cgroup/mglru.aging"
	is "only its own" "original batched" "$(effective_aging a/c) $(effective_aging a/d)"
	rmdir "$CGROOT/$(cgpath a/d)"
	ok "its hook goes with it" wait_for 10 hook_is inc_max_seq idle
	is "functions that ftrace holds" "$OBSERVERS" "$(enabled_functions)"
}

# order WHAT AGING: left in ORDER
order() {
	cg o
	[ "$2" = original ] || set_aging o "$2"
	ORDER=$("$BIN/run-in-cgroup" "$CGROOT/$(cgpath o)" "$BIN/order" "$1" 2>&1) ||
		{ fail "order $1, $2: $ORDER"; ORDER=; }
	say "order $1, $2: $ORDER"
	[ "$2" = original ] || say "$(grep aging "$(mdir o)/mglru.stat" | tr '\n' ' ')"
	rmdir "$CGROOT/$(cgpath o)"
}

# percent A B: how much A is of both, nothing if there is none
percent() {
	local a b
	a=$(field "$1") b=$(field "$2")
	[ $((a + b)) = 0 ] || echo $((a * 100 / (a + b)))
}
field() { sed -n "s/.*\<$1=\([0-9]*\).*/\1/p" <<<"$ORDER"; }

# Pages that nobody touches keep their order; original turns it around, which
# shows that the test would see it.
test_cold_ones_keep_their_order() {
	need_module
	make_swap || { fail "no swap"; return; }
	order cold original
	between "original: of what went first, percent of the upper half" 85 100 "$(percent high low)"
	order cold batched
	between "batched: percent of the lower half, which was the coldest" 85 100 "$(percent low high)"
}

# Promoted pages end up ahead of those that nobody has touched; in original
# behind them.
test_no_cold_one_ahead_of_a_hot_one() {
	need_module
	make_swap || { fail "no swap"; return; }
	order hot original
	between "original: of what went first, percent of hot pages" 85 100 "$(percent hot others)"
	order hot batched
	between "batched: percent of others" 85 100 "$(percent others hot)"
}

# Everything that moves folios, at once.
gens() {
	awk -v path="/$(cgpath "$1")" '/^memcg/ {ours = $3 == path; next} ours && !/node/' /sys/kernel/debug/lru_gen
}
switch_it() { set_aging work batched; sleep 2; set_aging work original; }
reclaim_it() { echo 1M >"$CGROOT/$(cgpath work)/memory.reclaim" 2>/dev/null; sleep 0.1; }
read_stream() { "$BIN/run-in-cgroup" "$CGROOT/$(cgpath work)" dd if="$DATA/mglru-data-64M" of=/dev/null bs=64k status=none; }
# A cgroup that ages, and goes with pages charged to it.
come_and_go() {
	cg passing || return
	set_aging passing batched
	"$BIN/run-in-cgroup" "$CGROOT/$(cgpath passing)" dd if=/dev/zero of="$DATA/passing" bs=256k count=8 status=none
	echo 512K >"$CGROOT/$(cgpath passing)/memory.reclaim" 2>/dev/null
	rmdir "$CGROOT/$(cgpath passing)"
}

# sizes NAME: pages as lru_gen, memory.stat and a recount have them, anon and file
sizes() {
	local stat
	stat=$CGROOT/$(cgpath "$1")/memory.stat
	gens "$1" | awk '{a += $3; f += $4} END {print "lru_gen", a + 0, f + 0}'
	awk '$1 ~ /^(in)?active_anon$/ {a += $2} $1 ~ /^(in)?active_file$/ {f += $2}
		END {print "memory.stat", a / 4096, f / 4096}' "$stat"
	"$BIN/lrucount" "$CGROOT/$(cgpath "$1")" | sed 's/[a-z]*=//g; s/^/recount /; s/ [0-9]*$//'
}

near() { local d=$(($1 - $2)); [ "${d#-}" -le "$3" ]; }

test_sizes_after_everything_at_once() {
	local i pids=() table seq
	need_module
	make_swap || { fail "no swap"; return; }
	[ -e "$DATA/mglru-data-64M" ] || "$BIN/mkdata" "$DATA/mglru-data-64M" 64M || { fail "no data"; return; }
	cg work
	echo 100M >"$CGROOT/$(cgpath work)/memory.max"
	set_aging work batched
	for i in 1 2; do
		"$BIN/run-in-cgroup" "$CGROOT/$(cgpath work)" "$BIN/churn" "$DATA/mglru-data-64M" --size 24M --seed "$i" &
		pids+=($!)
	done
	sleep 2
	log_mark
	"$BIN/run-in-cgroup" "$CGROOT/$(cgpath work)" "$BIN/ager" 20000 &
	pids+=($!)
	loop switch_it
	loop reclaim_it
	loop read_stream
	loop come_and_go
	seq=$(gens work | awk 'END {print $1}')
	sleep "$TIME"
	seq=$(($(gens work | awk 'END {print $1}') - seq))
	say "$seq agings"
	ok "the processes live" kill -0 "${pids[@]}"
	end_loops
	set_aging work batched
	# Stand still, drain what waits in batches, let memory.stat be flushed.
	echo 1 >"$CGROOT/$(cgpath work)/cgroup.freeze"
	echo 1 >/proc/sys/vm/compact_memory
	sleep 5
	table=$(sizes work)
	say "$(tr '\n' ' ' <<<"$table")"
	say "$(grep aging "$(mdir work)/mglru.stat" | tr '\n' ' ')"
	between "agings that folded" "$((TIME / 3))" 1000000 "$(stat_of work aging_batched)"
	between "folios folded" 1000 1000000000000 "$(stat_of work aging_folded)"
	# shellcheck disable=SC2046 # numbers
	set -- $(awk '{print $2, $3}' <<<"$table")
	between "anonymous pages" 100 25000 "$5"
	ok "lru_gen's anonymous pages against a recount" near "$1" "$5" 64
	ok "lru_gen's file pages against a recount" near "$2" "$6" 64
	ok "memory.stat's anonymous pages against a recount" near "$3" "$5" 64
	ok "memory.stat's file pages against a recount" near "$4" "$6" 64
	# With nothing left, every generation has to be empty: a size that was wrong
	# in one generation and as wrong in another would still show here.
	echo 1 >"$CGROOT/$(cgpath work)/cgroup.kill"
	{ wait "${pids[@]}"; } 2>/dev/null
	rm -f "$DATA/passing"
	sync
	echo 3 >/proc/sys/vm/drop_caches
	ok "everything goes" wait_for 20 emptied work
	emptied work || gens work | sed 's/^/# left: /'
	ok "the kernel has not complained" log_clean
}

emptied() {
	echo 64M >"$CGROOT/$(cgpath "$1")/memory.reclaim" 2>/dev/null
	gens "$1" | awk '$3 != 0 || $4 != 0 {bad = 1} END {exit bad || !NR}'
}

if [ "$HAVE_BATCHED" ]; then
	run_tests test_file test_inheritance test_cold_ones_keep_their_order \
		test_no_cold_one_ahead_of_a_hot_one test_sizes_after_everything_at_once
else
	run_tests test_file test_unavailable
fi
