#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# shellcheck disable=SC2086 # our names have no blanks
# exec.sh [SECONDS]: exec_promotion and no_exec_promotion: which functions they
# redirect, what is promoted through which mapping and what is not, and that the
# sizes of the generations stay right while policies change for SECONDS.
. "$(dirname "$0")/lib.sh"

DURATION=${1:-30}
DATA=${DATA:-/data}
BIN=${WORKLOAD_BIN:-/mglru/bin}
FILE=$DATA/execmap
LRU_GEN=/sys/kernel/debug/lru_gen
OBSERVERS="mem_cgroup_css_offline mem_cgroup_css_online "

case ${SERIES:-$(uname -r)} in
6.12*) skip_all "exec promotion cannot be chosen before 6.14; basic.sh looks at the reason" ;;
7.[3-9]*)
	CHOICE=no_exec_promotion NATIVE=exec_promotion
	HOOKS="lru_gen_set_refs $OBSERVERS""walk_update_folio "
	;;
*)
	CHOICE=exec_promotion NATIVE=no_exec_promotion
	HOOKS="folio_referenced lru_gen_look_around lru_gen_set_refs $OBSERVERS""walk_pmd_range_locked walk_pud_range walk_update_folio "
	;;
esac
[ "$CGV" = 2 ] || skip_all "needs cgroup v2"
[ -e $LRU_GEN ] || skip_all "needs debugfs and $LRU_GEN"
[ -x "$BIN/execmap" ] || skip_all "no $BIN/execmap; build it in tests/workloads and set WORKLOAD_BIN"

# DAMON's statistics, on by default since 6.17, clear the accessed bits of pages that
# they sample; aging does not see those accesses.
DAMON=/sys/module/damon_stat/parameters/enabled
OLD_DAMON=$(cat $DAMON 2>/dev/null)
[ -z "$OLD_DAMON" ] || echo N >$DAMON

restore() {
	[ -z "$OLD_DAMON" ] || echo "$OLD_DAMON" >$DAMON
	rm -f "$FILE".* /tmp/execmap.* /tmp/execmap.go
	# What is left is to go before its file does.
	[ ! -d "$CGROOT/$CG_PARENT" ] || echo 1 >"$CGROOT/$CG_PARENT/cgroup.kill"
}

# start NAME LAYOUT: execmap in the cgroup. Not by run-in-cgroup, which forbids huge
# pages. Leaves the numbers of folios in NR_EXEC and NR_PLAIN.
start() {
	local out=/tmp/execmap.$1
	: >"$out"
	(echo "$BASHPID" >"$CGROOT/$(cgpath "$1")/cgroup.procs" &&
		exec "$BIN/execmap" "$FILE.$1" "$2") >"$out" 2>"$out.err" &
	PID[$1]=$!
	if ! wait_for 60 grep -q ready "$out"; then
		fail "execmap does not run: $(cat "$out.err")"
		return 1
	fi
	read -r _ NR_EXEC NR_PLAIN <"$out"
}
declare -A PID

# Cgroups of new names: dead ones with the same path stay in lru_gen for a while.
fresh() {
	need_module
	N=$((${N:-0} + 1))
	A=a$N B=b$N
}

# begin NAME LAYOUT: start it, with a file of its own that is charged to the cgroup.
# All folios are unreferenced, untouched since, and old.
begin() {
	"$BIN/mkdata" "$FILE.$1" 8M
	# What the program itself is made of belongs to us.
	"$BIN/execmap" >/dev/null 2>&1
	sync "$FILE.$1"
	dd of="$FILE.$1" oflag=nocache conv=notrunc,fdatasync count=0 status=none
	start "$1" "$2" || return
	drain
	echo 1 >"/proc/${PID[$1]}/clear_refs"
	age "$1"
	age "$1"
	return 0
}

end() {
	kill "${PID[$1]}"
	wait "${PID[$1]}" 2>/dev/null
	rm -f "$FILE.$1"
}

touches() { [ "$(grep -c touched "/tmp/execmap.$1")" = "$2" ]; }
touch_all() {
	local n
	n=$(grep -c touched "/tmp/execmap.$1")
	kill -USR1 "${PID[$1]}"
	wait_for 60 touches "$1" $((n + 1)) || fail "execmap does not answer"
}

# The batches of all CPUs, by what drains them everywhere.
drain() { echo 1 >/proc/sys/vm/compact_memory; }

# generations NAME: "seq anon file" lines, the youngest last.
generations() {
	awk -v path="/$(cgpath "$1")" '
		$1 == "memcg" { on = $3 == path; next }
		on && $1 != "node" { print $1, $3, $4 }' $LRU_GEN
}
memcg_of() { awk -v path="/$(cgpath "$1")" '$1 == "memcg" && $3 == path { print $2 }' $LRU_GEN; }
max_seq() { generations "$1" | tail -n 1 | cut -d' ' -f1; }

# age NAME: one aging; what it has promoted is then in generation AGED.
age() {
	AGED=$(max_seq "$1")
	echo "+ $(memcg_of "$1") 0 $AGED 1 1" >$LRU_GEN || fail "no aging of $1"
}
pages_aged() { generations "$1" | awk -v s="$AGED" '$1 == s { print $3 }'; }

# The sizes of the generations against the totals: anon and file of a cgroup.
totals() {
	awk '/^(in)?active_anon/ { a += $2 } /^(in)?active_file/ { f += $2 }
		END { print a / 4096, f / 4096 }' "$CGROOT/$(cgpath "$1")/memory.stat"
}
sums() { generations "$1" | awk '{ a += $2; f += $3 } END { print a + 0, f + 0 }'; }
sizes_agree() { drain; [ "$(totals "$1")" = "$(sums "$1")" ]; }

counters() { echo "$(stat_of "$1" exec_promoted_walk)" "$(stat_of "$1" exec_not_promoted)" "$(stat_of "$1" exec_unknown)"; }

test_hooks_only_while_needed() {
	fresh
	cg "$A"; cg "$B"
	is "before" "$OBSERVERS" "$(enabled_functions)"
	set_policy "$A" $CHOICE
	is "under $CHOICE" "$HOOKS" "$(enabled_functions)"
	set_policy "$B" $CHOICE
	set_policy "$A" inherit
	is "still needed by another" "$HOOKS" "$(enabled_functions)"
	set_policy "$B" $NATIVE
	is "under $NATIVE, which is the kernel's own" "$OBSERVERS" "$(enabled_functions)"
	is "effective" $NATIVE "$(effective "$B")"
	set_policy "$B" fault_youngest+$NATIVE
	is "walks under fault_youngest+$NATIVE" "" "$(enabled_functions | tr ' ' '\n' | grep walk)"
	set_policy "$B" inherit
	is "afterwards" "$OBSERVERS" "$(enabled_functions)"
}

# in_layout LAYOUT PAGES: one aging under each choice. PAGES are mapped executable.
in_layout() {
	local layout=$1 pages=$2 walk not unknown
	fresh
	cg "$A"; cg "$B"
	set_policy "$A" $CHOICE
	set_policy "$B" $NATIVE
	begin "$A" "$layout" && begin "$B" "$layout" || return
	touch_all "$A"; touch_all "$B"
	if [ "$layout" = huge ]; then
		is "huge pages mapped" "2048 kB" "$(awk '/FilePmdMapped/ && $2 {print $2, $3}' "/proc/${PID[$A]}/smaps")"
	fi
	read -r walk not unknown <<<"$(counters "$A")"
	age "$A"
	is "$CHOICE: folios whose mapping is unknown" "$unknown" "$(stat_of "$A" exec_unknown)"
	if [ $CHOICE = exec_promotion ]; then
		is "promoted" $((walk + NR_EXEC)) "$(stat_of "$A" exec_promoted_walk)"
		is "not executable" $((not + NR_PLAIN)) "$(stat_of "$A" exec_not_promoted)"
	else
		is "promoted" "$walk" "$(stat_of "$A" exec_promoted_walk)"
		is "held back" $((not + NR_EXEC)) "$(stat_of "$A" exec_not_promoted)"
	fi
	say "$layout: $CHOICE: $(pages_aged "$A") pages promoted; $(grep ^exec "$(mdir "$A")/mglru.stat" | tr '\n' ' ')"
	if [ $CHOICE = exec_promotion ]; then
		between "pages promoted" "$pages" $((pages + 8)) "$(pages_aged "$A")"
	else
		between "pages promoted" 0 8 "$(pages_aged "$A")"
	fi
	age "$B"
	say "$layout: $NATIVE: $(pages_aged "$B") pages promoted"
	if [ $CHOICE = exec_promotion ]; then
		between "pages promoted by the kernel" 0 8 "$(pages_aged "$B")"
	else
		between "pages promoted by the kernel" "$pages" $((pages + 8)) "$(pages_aged "$B")"
	fi
	is "decisions in the cgroup that has the kernel's own way" "0 0 0" "$(counters "$B")"
	# A second access is nobody's first. (What is not promoted is folded into the next
	# generation, which makes it unreferenced again.)
	walk=$(stat_of "$A" exec_promoted_walk)
	touch_all "$A"
	age "$A"
	is "promoted on the second access" "$walk" "$(stat_of "$A" exec_promoted_walk)"
	ok "sizes" wait_for 10 sizes_agree "$A"
	end "$A"; end "$B"
}

test_many_small_mappings() { in_layout small 64; }
# Folios of several pages: sizes and generations alone.
test_large_folios() {
	local before
	fresh
	cg "$A"
	set_policy "$A" $CHOICE
	begin "$A" large || return
	touch_all "$A"
	before=$(cat "$(mdir "$A")/mglru.stat")
	age "$A"
	say "large: $(pages_aged "$A") pages promoted; $(grep ^exec "$(mdir "$A")/mglru.stat" | tr '\n' ' ')"
	if [ $CHOICE = exec_promotion ]; then
		between "pages promoted" 256 512 "$(pages_aged "$A")"
		between "folios promoted" 1 256 "$(stat_of "$A" exec_promoted_walk)"
		ok "they were large" test "$(stat_of "$A" exec_promoted_walk)" -lt 256
	else
		between "pages promoted" 0 8 "$(pages_aged "$A")"
		between "folios held back" 1 255 "$(($(stat_of "$A" exec_not_promoted) - $(awk '$1 == "exec_not_promoted" {print $2}' <<<"$before")))"
	fi
	ok "sizes" wait_for 10 sizes_agree "$A"
	end "$A"
}
test_huge_page_beside_small() { in_layout huge 528; }
test_locked_pages() { in_layout locked 32; }

# A file that is executed and written to elsewhere at the same time.
test_open_for_writing() {
	local not
	fresh
	cg "$A"
	set_policy "$A" $CHOICE
	begin "$A" small || return
	dd if="$FILE.$A" of="$FILE.$A" conv=notrunc bs=4k count=128 status=none
	touch_all "$A"
	not=$(stat_of "$A" exec_unknown)
	age "$A"
	is "unknown" "$not" "$(stat_of "$A" exec_unknown)"
	ok "sizes" wait_for 10 sizes_agree "$A"
	sync "$FILE.$A"
	end "$A"
}

# Text belongs to the cgroup that touched it first, whoever runs it.
test_shared_text() {
	fresh
	cg "$A"; cg "$B"
	set_policy "$B" $CHOICE
	begin "$A" small || return
	# The same file, in b: the folios are a's.
	rm -f "$FILE.$B"
	ln "$FILE.$A" "$FILE.$B"
	start "$B" small || return
	touch_all "$B"
	age "$B"
	is "decisions on the other's folios" "0 0 0" "$(counters "$B")"
	end "$A"; end "$B"
}

# Everything at once: executable text, reclaim, agings, policies that come and go.
test_sizes_stay_right() {
	local p i=0 end=$((SECONDS + DURATION)) pids=()
	fresh
	cg "$A"
	begin "$A" small || return
	touch /tmp/execmap.go
	"$BIN/mkdata" "$FILE.stream" 48M
	while [ -e /tmp/execmap.go ]; do echo 512K >"$CGROOT/$(cgpath "$A")/memory.reclaim"; sleep 0.5; done 2>/dev/null &
	pids+=($!)
	while [ -e /tmp/execmap.go ]; do age "$A"; sleep 0.1; done >/dev/null 2>&1 &
	pids+=($!)
	echo 40M >"$CGROOT/$(cgpath "$A")/memory.max"
	while [ $SECONDS -lt $end ]; do
		for p in fault_youngest+$CHOICE $CHOICE $NATIVE set_active+$NATIVE inherit; do
			set_policy "$A" $p || fail "cannot set $p"
			"$BIN/run-in-cgroup" "$CGROOT/$(cgpath "$A")" "$BIN/text-8M" "$FILE.stream" --size 8M --passes 2 \
				--readahead >/dev/null 2>&1 || say "reclaim was faster than readahead"
			touch_all "$A"
			i=$((i + 1))
		done
	done
	say "$i policies; $(grep ^exec "$(mdir "$A")/mglru.stat" | tr '\n' ' ')"
	rm -f /tmp/execmap.go
	wait "${pids[@]}"
	between "first accesses seen" 50 100000000 "$(($(stat_of "$A" exec_promoted_walk) + $(stat_of "$A" exec_promoted_rmap) + $(stat_of "$A" exec_not_promoted)))"
	ok "sizes agree when it is quiet" wait_for 20 sizes_agree "$A"
	say "pages of the totals $(totals "$A"), of the generations $(sums "$A")"
	end "$A"
}

# Reclaim, and what it finds young beside: memory.reclaim looks around with a walk at
# hand, the limit of a cgroup without one.
test_look_around() {
	local how
	for how in proactive limit; do
		fresh
		cg "$A"
		set_policy "$A" $CHOICE
		begin "$A" locked || return
		touch_all "$A"
		if [ $how = proactive ]; then
			echo 8M >"$CGROOT/$(cgpath "$A")/memory.reclaim" 2>/dev/null
		else
			# Not what is mapped: read() counts as an access.
			echo 2M >"$CGROOT/$(cgpath "$A")/memory.max"
			"$BIN/run-in-cgroup" "$CGROOT/$(cgpath "$A")" dd if="$FILE.$A" of=/dev/null bs=64k skip=8 status=none
		fi
		say "$how: $(grep ^exec "$(mdir "$A")/mglru.stat" | tr '\n' ' ')"
		is "$how: unknown mappings" 0 "$(stat_of "$A" exec_unknown)"
		if [ $CHOICE = exec_promotion ]; then
			between "$how: promoted" 32 200 $(($(stat_of "$A" exec_promoted_walk) + $(stat_of "$A" exec_promoted_rmap)))
			between "$how: promoted by reclaim itself" 1 200 "$(stat_of "$A" exec_promoted_rmap)"
		else
			between "$how: held back" 32 200 "$(stat_of "$A" exec_not_promoted)"
		fi
		end "$A"
	done
}

run_tests test_hooks_only_while_needed test_many_small_mappings test_huge_page_beside_small \
	test_large_folios 	test_locked_pages test_open_for_writing test_shared_text test_sizes_stay_right test_look_around
