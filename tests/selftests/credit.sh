#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# readahead_credit does its sums right: against what the kernel counts, with
# readers on all CPUs in two cgroups at once, over a switch, with the multi-gen
# LRU switched off, over the death of the cgroup.
# shellcheck disable=SC2086,SC2016 # our paths have no blanks; $retval is for the kernel
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

DATA=${DATA:-/data}
BIN=${WORKLOAD_BIN:-/mglru/bin}
ENABLED=/sys/kernel/mm/lru_gen/enabled
EVENTS=$TRACING/kprobe_events
RECENT=$TRACING/events/kprobes/mglru_recent
WINDOW=32			# pages, VM_READAHEAD_PAGES
LIMIT=$((10 << 20))
CPUS=$(nproc)
NODES=$(find /sys/devices/system/node -maxdepth 1 -name "node[0-9]*" | wc -l)
SLACK=$((CPUS * NODES * 2 * WINDOW))	# what pockets may hold over the cap
# The cap is a node's own, and holds when credit is added: a node that shrinks keeps it.

[ "$CGV" = 2 ] || skip_all "the workloads need cgroup v2"

restore() {
	[ -z "${OLD_ENABLED:-}" ] || echo "$OLD_ENABLED" >$ENABLED
	trace_off
	rm -f "$DATA"/mglru-credit-*
}

data_file() {
	[ -e "$DATA/mglru-credit-$1" ] || "$BIN/mkdata" "$DATA/mglru-credit-$1" 60M
}

cgroup_with_credit() {
	cg "$1"
	echo $LIMIT >"$CGROOT/$(cgpath "$1")/memory.max"
	set_policy "$1" readahead_credit || fail "set readahead_credit"
}

# reader CGROUP FILE SEED PAGES: 20 sequential mmap readers in turn; refaults.
reader() {
	"$BIN/run-in-cgroup" "$CGROOT/$(cgpath "$1")" "$BIN/readers" "$DATA/mglru-credit-$2" \
		--size 60M --readers 20 --warm 0 --pages "$4" --seed "$3" >/dev/null
}

# sums CGROUP [LIMIT]: at rest, each page of credit is in one place.
sums() {
	local -A s=()
	local key value
	while read -r key value; do s[$key]=$value; done <"$(mdir "$1")/mglru.stat"
	is "$1: earned = balance + spent + expired" "${s[credit_earned]}" \
		$((s[credit_balance] + s[credit_spent] + s[credit_expired]))
	between "$1: balance" 0 $((4 * NODES * ${2:-$LIMIT} / 4096 + SLACK)) "${s[credit_balance]}"
	say "$1: earned ${s[credit_earned]}, balance ${s[credit_balance]}, spent ${s[credit_spent]}," \
		"denied ${s[credit_denied]}, expired ${s[credit_expired]}, pocket hits ${s[pocket_hits]}, refills ${s[pocket_refills]}"
}

refaults() { awk '$1 == "workingset_refault_file" {print $2}' "$CGROOT/$(cgpath "$1")/memory.stat"; }

# What lru_gen_test_recent() answers, to us and to the kernel after us.
trace_on() {
	echo 'r1024:mglru_recent lru_gen_test_recent recent=$retval:u8' >>"$EVENTS" 2>/dev/null &&
		echo 'hist:keys=recent' >"$RECENT/trigger" && echo 1 >"$RECENT/enable"
}
trace_off() {
	[ -e "$RECENT" ] || return 0
	echo 0 >"$RECENT/enable"
	echo '!hist:keys=recent' >"$RECENT/trigger"
	echo '-:mglru_recent' >>"$EVENTS"
}
answers() { awk -v a="$1" '$3 == a {sub(/.*hitcount: */, ""); print $1 + 0; f = 1} END {if (!f) print 0}' <(sed 's/[{}]/ & /g' "$RECENT/hist"); }

test_hooks_only_while_used() {
	local f p want
	cg a
	for p in inherit:idle mark_accessed_v3:idle readahead_credit:attached inherit:idle; do
		want=${p#*:} p=${p%:*}
		set_policy a "$p"
		for f in workingset_refault page_cache_async_ra; do
			is "$f under $p" "$want" "$(hook_state $f)"
		done
	done
}

# Exactly the refaults that lru_gen_refault() counts as recent: each is asked for
# twice, by us and by the kernel, with the same answer. They are no more than
# what memory.stat counts, which also has those that are not recent.
test_earns_what_the_kernel_counts() {
	local recent yes no earned
	data_file one
	cgroup_with_credit a
	recent=1
	case ${SERIES:-$(uname -r)} in 6.12*) recent= ;; esac	# inlined there
	grep -q hist: $TRACING/README || { say "no hist triggers: the answers are not traced"; recent=; }
	if [ "$recent" ]; then ok "trace lru_gen_test_recent" trace_on; fi
	ok "readers" reader a one 1 6000
	sleep 3	# memory.stat is brought up to date
	earned=$(stat_of a credit_earned)
	say "refaults $(refaults a), earned $earned = $((earned / WINDOW)) x $WINDOW"
	between "earned" $((100 * WINDOW)) $(($(refaults a) * WINDOW)) "$earned"
	is "earned in whole windows" 0 $((earned % WINDOW))
	if [ "$recent" ]; then
		yes=$(answers 1) no=$(answers 0)
		say "asked by us and the kernel: recent $yes, not recent $no; earned $((earned / WINDOW)) pages"
		is "missed by the probe" 0 "$(awk '$1 == "mglru_recent" {print $3}' $TRACING/kprobe_profile)"
		# A folio may have several pages.
		between "recent answers, twice" 100 $((2 * earned / WINDOW)) "$yes"
		is "answers that differ (odd)" "0 0" "$((yes % 2)) $((no % 2))"
		trace_off
	fi
	sums a
}

# strided CGROUP FILE: workload A, a page in 16. From 7.2 on, only an executable
# mapping goes on being read around.
strided() {
	local exec=()
	case ${SERIES:-$(uname -r)} in
	6.12* | 6.1[4-9]* | 7.[01]*) ;;
	*) exec=(--exec) ;;
	esac
	echo 40M >"$CGROOT/$(cgpath "$1")/memory.max"
	"$BIN/run-in-cgroup" "$CGROOT/$(cgpath "$1")" "$BIN/strided" "$DATA/mglru-credit-$2" \
		--size 60M --stride 64K --passes 4 "${exec[@]}" >/dev/null || return
	echo $LIMIT >"$CGROOT/$(cgpath "$1")/memory.max"
}

# Strided reads bring refaults, and credit, but hardly any of it is spent: now and
# then the kernel itself takes such reads for sequential. Sequential ones in the same
# cgroup spend it.
test_strided_spends_nothing() {
	local hits spent unproven
	case ${SERIES:-$(uname -r)} in
	6.12*) SKIPPED="workload A judges placement from 6.14 on"; return ;;
	esac
	data_file one
	cgroup_with_credit a
	ok "strided" strided a one
	hits=$(stat_of a readahead_hits) spent=$(stat_of a credit_spent) unproven=$(stat_of a credit_unproven)
	say "strided: $hits hits, $spent spent, unproven $unproven, earned $(stat_of a credit_earned)"
	between "earned" 1000 100000000 "$(stat_of a credit_earned)"
	between "unproven" 5000 100000000 "$unproven"
	# One touch in twenty at most; it is one page in 30 for the readers below.
	between "hits" 0 192 "$hits"
	between "spent" 0 $((hits * 4 * WINDOW)) "$spent"
	ok "readers" reader a one 1 3000
	say "readers: $(($(stat_of a readahead_hits) - hits)) hits, $(($(stat_of a credit_spent) - spent)) spent"
	between "hits of the readers" 50 3000 $(($(stat_of a readahead_hits) - hits))
	between "spent by the readers" 500 100000 $(($(stat_of a credit_spent) - spent))
	sums a $((40 << 20))
}

# watch CGROUP: the balance while it is at work.
watch_balance() {
	local b
	while [ -e "$GO" ]; do
		b=$(stat_of "$1" credit_balance)
		echo "$b"
		sleep 0.1
	done
}

# Eight readers on all CPUs, four in each of two cgroups.
test_two_cgroups_share_cpus() {
	local i n pids=() g node1
	data_file one
	data_file two
	GO=$(mktemp)
	for g in one two; do
		cgroup_with_credit $g
		watch_balance $g >"$GO.$g" &
	done
	for i in 1 2 3 4; do
		for g in one two; do
			reader $g $g $i 3000 &
			pids+=($!)
		done
	done
	for i in "${pids[@]}"; do wait "$i" || fail "a reader failed"; done
	rm "$GO"
	wait
	for g in one two; do
		n=$(sort -n "$GO.$g" | uniq | wc -l)
		say "$g: $(wc -l <"$GO.$g") looks, $n different balances, highest $(sort -n "$GO.$g" | tail -n 1)"
		between "$g: looks" 5 100000 "$(wc -l <"$GO.$g")"
		between "$g: highest balance" 1 $((4 * NODES * LIMIT / 4096 + SLACK)) "$(sort -n "$GO.$g" | tail -n 1)"
		is "$g: balances that are none" "" "$(grep -v '^[0-9]*$' "$GO.$g")"
		rm "$GO.$g"
		sums $g
		between "$g: spent" 500 100000000 "$(stat_of $g credit_spent)"
		# From 6.16 on, ext4 has large folios (PREEMPT_RT has none); they are paid for whole.
		if [ -d /sys/kernel/mm/transparent_hugepage ] && [ "${SERIES:-$(uname -r)}" = "${SERIES#6.12}" ]; then
			between "$g: spent on large folios" $(($(stat_of $g add_credit) * 5 / 4)) 100000000 "$(stat_of $g credit_spent)"
		fi
		# In a guest with --numa and --env WANT_NODES=2: each CPU fills its own node.
		node1=$(sed -n "s/^file .*N1=//p" "$CGROOT/$(cgpath $g)/memory.numa_stat")
		[ -z "${WANT_NODES:-}" ] || between "$g: file pages on node 1" $((100 * 4096)) $LIMIT "${node1:-none}"
		# Two cgroups take turns on each CPU, and hardly go to the pool for it.
		between "$g: hits a refill" 2 100000 $(($(stat_of $g pocket_hits) / ($(stat_of $g pocket_refills) + 1)))
	done
}

# with_balance CGROUP FILE: read until there is some credit left.
with_balance() {
	local i
	# What was cached by others is not charged to it.
	sync
	echo 3 >/proc/sys/vm/drop_caches
	for i in 1 2 3 4 5 6 7 8; do
		reader "$1" "$2" "$i" 1000000 2>/dev/null &
		wait_for 60 has_balance "$1"
		echo 1 >"$CGROOT/$(cgpath "$1")/cgroup.kill"
		wait
		has_balance "$1" && return 0
	done
	return 1
}
has_balance() { [ "$(stat_of "$1" credit_balance)" != 0 ]; }

test_switch_resets() {
	local expired
	data_file one
	cgroup_with_credit a
	ok "some credit" with_balance a one
	expired=$(stat_of a credit_expired)
	set_policy a set_active
	is "balance under another policy" 0 "$(stat_of a credit_balance)"
	between "expired" $((expired + 1)) 100000000 "$(stat_of a credit_expired)"
	sums a
	set_policy a readahead_credit
	is "balance when it is back" 0 "$(stat_of a credit_balance)"
	ok "earns again" with_balance a one
	sums a
}

test_switched_off_resets() {
	data_file one
	cgroup_with_credit a
	ok "some credit" with_balance a one
	OLD_ENABLED=$(<$ENABLED)
	echo 0 >$ENABLED
	ok "readers while it is off" reader a one 9 1000
	echo "$OLD_ENABLED" >$ENABLED
	is "balance" 0 "$(stat_of a credit_balance)"
	sums a
	ok "earns again" with_balance a one
	sums a
}

test_dies_with_the_cgroup() {
	data_file one
	cgroup_with_credit a
	ok "some credit" with_balance a one
	ok "rmdir" rmdir "$CGROOT/$(cgpath a)"
	cgroup_with_credit a
	is "a new one of the same name" "0 0" "$(stat_of a credit_earned) $(stat_of a credit_balance)"
}

need_module
run_tests test_hooks_only_while_used test_earns_what_the_kernel_counts test_strided_spends_nothing \
	test_two_cgroups_share_cpus test_switch_resets \
	test_switched_off_resets test_dies_with_the_cgroup
