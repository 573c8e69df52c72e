#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Cgroups that come and go: directories are there in time, go in time, and
# nobody ever has the policy or the counters of somebody else.
# life.sh [test_NAME...]: only these.
# shellcheck disable=SC2086,SC2016 # our paths have no blanks; eval expands
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

CHURN=${CHURN:-200}
ALL_POLICIES=(original set_active mark_accessed mark_accessed_v3 fault_youngest inherit)
STOP=

cgdir() { echo "$CGROOT/$(cgpath "$1")"; }

# subtree NAME +memory|-memory: for the children of a cgroup; nothing on v1.
subtree() { [ "$CGV" = 1 ] || echo "$2" >"$(cgdir "$1")/cgroup.subtree_control"; }

# fresh NAME: nothing asked for, original in force, nothing counted. Starts no
# process, which is dear under emulation.
fresh() {
	local d=$MGLRU/cgroup/$CG_PARENT/$1 asked effective key value
	read -r asked <"$d/mglru.policy" && read -r effective <"$d/mglru.effective" || return
	[ $asked/$effective = inherit/original ] || return
	while read -r key value; do
		[ $value = 0 ] || { say "$1: $key $value"; return 1; }
	done <"$d/mglru.stat"
}

# Cgroups with the memory controller, and directories of ours, as paths.
memory_cgroups() {
	(cd "$CGROOT" && find . -mindepth 2 -name memory.stat -printf '%h\n' 2>/dev/null | sort)
}
directories() { (cd $MGLRU/cgroup && find . -mindepth 1 -type d 2>/dev/null | sort); }
same_tree() { [ "$(memory_cgroups)" = "$(directories)" ]; }
trees_agree() { # trees_agree SECONDS: within that time
	wait_for "$1" same_tree && return
	fail "the trees differ: < cgroups, > directories"
	diff <(memory_cgroups) <(directories) | grep '^[<>]' | head -n 5 | sed 's/^/# /'
}

random_policy() { echo "${ALL_POLICIES[RANDOM % ${#ALL_POLICIES[@]}]}"; }

# stop_all: end the loops in the background; they look for the file.
start_loops() { STOP=$(mktemp) && rm "$STOP"; }
stop_loops() {
	[ -n "$STOP" ] || return 0
	touch "$STOP"
	wait
	rm -f "$STOP"
	STOP=
}

restore() {
	local m
	stop_loops
	for m in memcgid delay; do
		[ ! -d /sys/module/mglru_test_$m ] || rmmod mglru_test_$m
	done
	[ -z "${FILE:-}" ] || rm -f "$FILE"
}

test_directory_at_once() {
	local i
	need_module
	cg p
	ok "with mkdir" test -d "$(mdir p)"
	for i in 1 2 3 4 5; do
		mkdir "$(cgdir p/x)"
		if [ "$CGV" = 2 ]; then
			ok "not before +memory ($i)" test ! -e "$(mdir p/x)"
			subtree p +memory
		fi
		ok "at once ($i)" test -f "$(mdir p/x)/mglru.policy"
		is "asked ($i)" inherit "$(asked p/x)"
		set_policy p/x fault_youngest
		if [ "$CGV" = 2 ]; then
			subtree p -memory
			ok "goes after -memory ($i)" wait_for 10 test ! -e "$(mdir p/x)"
			subtree p +memory
			subtree p -memory
			subtree p +memory
			ok "back at once ($i)" test -f "$(mdir p/x)/mglru.policy"
			is "asked, back ($i)" inherit "$(asked p/x)"
			subtree p -memory
		fi
		rmdir "$(cgdir p/x)"
		ok "goes after rmdir ($i)" wait_for 10 test ! -e "$(mdir p/x)"
	done
	ok "no hook is left" wait_for 10 hook_is folio_add_lru idle
}

test_delegation() {
	local run=(setpriv --reuid 65534 --regid 65534 --clear-groups)
	need_module
	if ! command -v setpriv >/dev/null; then
		# shellcheck disable=SC2034 # run_tests prints it
		SKIPPED="no setpriv; install util-linux"
		return
	fi
	cg a
	set_policy a fault_youngest
	chown -R 65534:65534 "$(cgdir a)"
	[ "$CGV" = 1 ] || ok "+memory by the owner" "${run[@]}" sh -c "echo +memory >'$(cgdir a)/cgroup.subtree_control'"
	ok "mkdir by the owner" "${run[@]}" mkdir "$(cgdir a/u)"
	is "in force" fault_youngest "$(effective a/u)"
	ok "the owner reads" "${run[@]}" cat "$(mdir a/u)/mglru.effective" >/dev/null
	ok "the owner does not write" eval '! "${run[@]}" sh -c "echo original >$(mdir a/u)/mglru.policy" 2>/dev/null'
	is "asked" inherit "$(asked a/u)"
	ok "the admin does" set_policy a/u set_active
	is "in force" set_active "$(effective a/u)"
	ok "rmdir by the owner" "${run[@]}" rmdir "$(cgdir a/u)"
	ok "its directory goes" wait_for 10 test ! -e "$(mdir a/u)"
}

# The first page already has the inherited policy.
test_inherited_from_the_first_page() {
	need_module
	cg a
	set_policy a mark_accessed
	subtree a +memory
	cg a/b
	fault_in a/b
	between "decisions" 1 1000000000 "$(decisions a/b)"
	is "changes of policy" 0 "$(stat_of a/b policy_changes)"
}

test_removal_with_policies() {
	need_module
	cg a
	subtree a +memory
	cg a/b
	cg a/c
	set_policy a set_active
	set_policy a/b fault_youngest
	set_policy a/c original
	rmdir "$(cgdir a/b)"
	ok "child's directory goes" wait_for 10 test ! -e "$(mdir a/b)"
	is "the hook stays for the parent" attached "$(hook_state folio_add_lru)"
	ok "lru_add goes" wait_for 10 eval '[ "$(awk "\$1 == \"lru_add\" {print \$4}" $MGLRU/hooks)" -le 1 ]'
	is "brother" original "$(effective a/c)"
	rmdir "$(cgdir a/c)" "$(cgdir a)"
	ok "all directories go" wait_for 10 test ! -e "$(mdir a)"
	ok "all hooks go" wait_for 10 hook_is folio_add_lru idle
	is "users" 0 "$(awk '/^folio_add_lru / {print $4}' $MGLRU/hooks)"
}

# Writes random policies to what is there. A cgroup may go meanwhile: ENODEV
# and ENOENT are right then, and EACCES, which is what the shell's O_CREAT gets
# when the file has gone before its directory; anything else is written down.
random_writer() {
	local d e errors=$1
	while [ ! -e "$STOP" ]; do
		for d in "$MGLRU/cgroup/$CG_PARENT"/*/; do
			[ ! -e "$STOP" ] || break
			{ random_policy >"$d/mglru.policy"; } 2>"$errors.$BASHPID" && continue
			e=$(<"$errors.$BASHPID")
			case $e in
			*"No such device"|*"No such file or directory"|*"Permission denied") ;;
			*) echo "$e" >>"$errors" ;;
			esac
		done
		sleep 0.05
	done
	rm -f "$errors.$BASHPID"
}

test_churn_while_writing() {
	local i errors made=0 top=$CGROOT/$CG_PARENT
	need_module
	errors=$(mktemp)
	for i in 1 2 3 4 5; do cg fixed$i; done
	# Keeps the hooks attached: writes are quick, so that many are tried.
	set_policy "" mark_accessed
	start_loops
	random_writer "$errors" &
	random_writer "$errors" &
	for ((i = 0; i < CHURN; i++)); do
		mkdir "$top/x$i" || fail "mkdir x$i"
		[ -f "$MGLRU/cgroup/$CG_PARENT/x$i/mglru.policy" ] && made=$((made + 1))
		[ $i -lt 8 ] || rmdir "$top/x$((i - 8))" || fail "rmdir x$((i - 8))"
	done
	stop_loops
	is "directories" $CHURN $made
	is "errors of writing" "" "$(sort -u "$errors" | head -n 3)"
	rm -f "$errors"
	for i in 1 2 3 4 5; do
		set_policy fixed$i fault_youngest
		is "fixed$i" fault_youngest "$(effective fixed$i)"
	done
	trees_agree 20
	cleanup_cgroups
	ok "nothing of ours is left" wait_for 20 test ! -e "$MGLRU/cgroup/$CG_PARENT"
	ok "no hook is left" wait_for 20 hook_is folio_add_lru idle
	for i in folio_add_lru lru_add lru_gen_set_refs; do
		is "users of $i" "" "$(awk -v f=$i '$1 == f && $4 != 0 {print $4}' $MGLRU/hooks)"
	done
}

# A policy that comes or goes attaches or detaches hooks, which takes up to some
# seconds. Whoever makes a cgroup holds cgroup_mutex and must not wait for that.
test_mkdir_does_not_wait_for_hooks() {
	local i t t0 worst=0 all=0 errors
	need_module
	errors=$(mktemp)
	for i in 1 2 3; do cg fixed$i; done
	start_loops
	random_writer "$errors" &
	random_writer "$errors" &
	for ((i = 0; i < 30; i++)); do
		t0=${EPOCHREALTIME/./}
		mkdir "$(cgdir x$i)" || fail "mkdir x$i"
		t=$(((${EPOCHREALTIME/./} - t0) / 1000))
		all=$((all + t))
		[ $t -le $worst ] || worst=$t
		sleep 0.1
		rmdir "$(cgdir x$i)" || fail "rmdir x$i"
	done
	stop_loops
	say "mkdir took $((all / 30)) ms, at worst $worst ms, while policies were written"
	between "the slowest mkdir in ms" 0 3000 $worst
	is "errors of writing" "" "$(sort -u "$errors" | head -n 3)"
	rm -f "$errors"
}

test_deep_nesting() {
	local i path=deep
	need_module
	cg deep
	for ((i = 2; i <= 32; i++)); do
		subtree $path +memory
		path=$path/l$i
		cg $path
		ok "level $i" test -d "$(mdir $path)"
	done
	set_policy deep set_active
	is "level 32" set_active "$(effective $path)"
	fault_in $path
	between "decisions at level 32" 1 1000000000 "$(stat_of $path add_active)"
	set_policy "${path%/l17/*}/l17" mark_accessed
	is "level 16" set_active "$(effective "${path%/l17/*}")"
	is "level 32 from 17" mark_accessed "$(effective $path)"
	set_policy deep original
	is "level 16 from the top" original "$(effective "${path%/l17/*}")"
	is "level 32 still" mark_accessed "$(effective $path)"
	cleanup_cgroups
	ok "all directories go" wait_for 10 test ! -e "$MGLRU/cgroup/$CG_PARENT"
	ok "no hook is left" wait_for 10 hook_is folio_add_lru idle
}

test_same_name_again_and_again() {
	local i policy bad=0 dir=$CGROOT/$CG_PARENT/same
	need_module
	cg keep
	set_policy keep mark_accessed
	for ((i = 0; i < 100; i++)); do
		# From here on every policy that comes or goes moves hooks.
		[ $i != 95 ] || set_policy keep original
		mkdir $dir || { fail "mkdir $i"; break; }
		fresh same || bad=$((bad + 1))
		echo fault_youngest >$MGLRU/cgroup/$CG_PARENT/same/mglru.policy || bad=$((bad + 1))
		read -r policy <$MGLRU/cgroup/$CG_PARENT/same/mglru.effective
		[ $policy = fault_youngest ] || bad=$((bad + 1))
		rmdir $dir
	done
	is "wrong ones of 100" 0 $bad
	ok "the last one's directory goes" wait_for 10 test ! -e "$(mdir same)"
}

memcg_id() {
	echo "/$(cgpath "$1")" >/sys/module/mglru_test_memcgid/parameters/path &&
		cat /sys/module/mglru_test_memcgid/parameters/id
}

# The kernel gives out the lowest id that is free. A cgroup that is gone, but
# for its page cache, has given its id back.
test_id_re_use() {
	local i n id reused='' kept all
	need_module
	if [ "$CGV" = 1 ]; then
		# shellcheck disable=SC2034 # run_tests prints it
		SKIPPED="the test module looks cgroups up on v2 only"
		return
	fi
	FILE=$(mktemp "${DATA:-/var/tmp}/mglru_selftest.XXXXXX")
	ok "test module" insmod "$MODULES/mglru_test_memcgid.ko"
	cg keep
	set_policy keep mark_accessed
	cg z
	set_policy z mark_accessed
	id=$(memcg_id z)
	between "id" 1 65535 "$id"
	# mkdata writes what strided wants to find.
	(echo $BASHPID >"$(cgdir z)/cgroup.procs" &&
		if command -v mkdata >/dev/null; then mkdata "$FILE" 8M; else head -c 8M /dev/urandom >"$FILE"; fi)
	sync
	fault_in z
	between "decisions for the one that goes" 1 1000000000 "$(decisions z)"
	rmdir "$(cgdir z)"
	ok "its directory goes" wait_for 10 test ! -e "$(mdir z)"
	say "id $id is free; $(grep nr_dying_descendants "$CGROOT/$CG_PARENT/cgroup.stat") in the parent"

	for ((i = 0; i < 300; i++)); do
		cg n$i
		fresh n$i || fail "n$i has what it has not asked for"
		[ "$(memcg_id n$i)" != "$id" ] || { reused=n$i; break; }
	done
	ok "the id was used again" test -n "$reused"
	[ -n "$reused" ] || return
	say "$reused has id $id"

	# The newcomer runs the kernel's own code, on its own pages and on those
	# that the dead one left. The latter are nobody's of ours.
	kept=$(decisions keep)
	fault_in $reused
	(echo $BASHPID >"$(cgdir $reused)/cgroup.procs" && exec cat "$FILE" >/dev/null)
	strided_over $reused
	echo 16M >"$CGROOT/$CG_PARENT/memory.reclaim" 2>/dev/null
	is "decisions for the newcomer" 0 "$(decisions $reused)"
	is "decisions for the bystander" "$kept" "$(decisions keep)"
	all=$(cat $MGLRU/cgroup/mglru.stat)

	# The newcomer's own policy is for its own pages only.
	set_policy $reused mark_accessed
	n=$(decisions $reused)
	strided_over .
	is "the dead one's pages" "$n" "$(decisions $reused)"
	fault_in $reused
	between "its own" $((n + 1)) 1000000000 "$(decisions $reused)"
	is "decisions for the root" "$all" "$(cat $MGLRU/cgroup/mglru.stat)"
	rmmod mglru_test_memcgid
	rm -f "$FILE"
}

# strided_over NAME: map the file of the dead one from another cgroup.
strided_over() {
	if ! command -v strided >/dev/null; then
		say "no program strided in PATH: pages are read, not mapped"
		return
	fi
	(if [ "$1" != . ]; then echo $BASHPID >"$(cgdir "$1")/cgroup.procs"; fi
		exec strided "$FILE" --size 8M --stride 4K --passes 3 >/dev/null) || fail "strided failed"
}

test_id_re_use_at_once() {
	local i bad=0
	need_module
	cg keep
	set_policy keep mark_accessed
	for ((i = 0; i < 30; i++)); do
		cg r$i
		fresh r$i || bad=$((bad + 1))
		if [ $((i % 5)) = 0 ]; then
			fault_in r$i
			fresh r$i || bad=$((bad + 1))
		fi
		set_policy r$i mark_accessed || bad=$((bad + 1))
		rmdir "$(cgdir r$i)"
	done
	is "wrong ones of 30" 0 $bad
}

# mkdir that began before the module was there and is still inside css_online
# when the hook comes: loading may wait for it, but not miss it.
test_cgroup_in_the_making_while_loading() {
	local sleeping=/sys/module/mglru_test_delay/parameters/sleeping overlap
	! loaded || unload
	overlap=$(mktemp)
	cg
	ok "test module" insmod "$MODULES/mglru_test_delay.ko" ms=6000
	mkdir "$(cgdir late)" &
	ok "mkdir is under way" wait_for 5 grep -qx 1 $sleeping
	(wait_for 20 grep -q '^mem_cgroup_css_online ' $TRACING/enabled_functions && cat $sleeping >"$overlap") &
	ok load load
	wait
	is "mkdir under way when the hook came" 1 "$(cat "$overlap")"
	ok "the new cgroup has its directory" test -d "$(mdir late)"
	echo 0 >/sys/module/mglru_test_delay/parameters/ms
	cg other
	ok "and the next one" test -d "$(mdir other)"
	trees_agree 0
	rmmod mglru_test_delay
	rm -f "$overlap"
	unload
}

# A load that fails after a policy was written already must not leave its hooks.
test_failed_load_after_a_write() {
	local sleeping=/sys/module/mglru_test_delay/parameters/sleeping pid
	! loaded || unload
	cg
	ok "test module" insmod "$MODULES/mglru_test_delay.ko" ms=8000
	mkdir "$(cgdir late)" &
	ok "mkdir is under way" wait_for 5 grep -qx 1 $sleeping
	# Loading waits for the mkdir; meanwhile the root's file is there.
	if [ -n "$MGLRU_KO" ]; then insmod "$MGLRU_KO" 2>/dev/null & else modprobe mglru_policy & fi
	pid=$!
	ok "the root's file is there" wait_for 5 test -e "$MGLRU/cgroup/mglru.policy"
	is "a policy is written" 0 "$(write_error set_active "$MGLRU/cgroup/mglru.policy")"
	ok "and attached" grep -q '^folio_add_lru ' $TRACING/enabled_functions
	kill "$pid"
	wait "$pid" && fail "loading was not interrupted"
	is "mkdir is still under way" 1 "$(cat $sleeping)"
	is "hooks left behind" "" "$(enabled_functions)"
	ok "no sysfs entry" test ! -e "$MGLRU"
	echo 0 >/sys/module/mglru_test_delay/parameters/ms
	wait
	rmmod mglru_test_delay
	ok "it loads now" load
	unload
}

# rmmod while a mkdir is inside our replacement, asleep.
test_cgroup_in_the_making_while_unloading() {
	local sleeping=/sys/module/mglru_test_delay/parameters/sleeping
	! loaded || unload
	ok load load
	cg
	ok "test module" insmod "$MODULES/mglru_test_delay.ko" ms=4000
	mkdir "$(cgdir late)" &
	ok "mkdir is under way" wait_for 5 grep -qx 1 $sleeping
	ok unload unload
	is "unloading waited for it" 0 "$(cat $sleeping)"
	wait
	ok "the cgroup is there" test -d "$(cgdir late)"
	is "hooks left behind" "" "$(enabled_functions)"
	rmmod mglru_test_delay
}

tree_maker() {
	local i=0 a b
	while [ ! -e "$STOP" ]; do
		i=$((i + 1))
		mkdir "$(cgdir t$i)"
		subtree t$i +memory
		for a in 1 2 3; do
			mkdir "$(cgdir t$i/$a)"
			subtree t$i/$a +memory
			for b in 1 2; do mkdir "$(cgdir t$i/$a/$b)"; done
		done
		[ $i -lt 4 ] || find "$(cgdir t$((i - 3)))" -depth -type d -exec rmdir {} \;
	done
}

test_trees_while_loading_and_unloading() {
	local i
	! loaded || unload
	for i in 1 2 3 4; do
		cg
		start_loops
		tree_maker &
		sleep 0.3
		ok "load $i" load
		sleep 0.3
		stop_loops
		trees_agree 10
		start_loops
		cleanup_cgroups
		cg
		tree_maker &
		echo fault_youngest >$MGLRU/cgroup/mglru.policy
		ok "unload $i" unload
		stop_loops
		is "hooks left behind" "" "$(enabled_functions)"
		ok "no sysfs entry" test ! -e $MGLRU
		cleanup_cgroups
	done
}

if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
for m in memcgid delay; do
	[ -e "$MODULES/mglru_test_$m.ko" ] || skip_all "no $MODULES/mglru_test_$m.ko; build tests/modules and set MODULES"
done
[ $# = 0 ] || { run_tests "$@"; exit; }
run_tests test_directory_at_once test_delegation test_inherited_from_the_first_page \
	test_cgroup_in_the_making_while_loading test_failed_load_after_a_write \
	test_cgroup_in_the_making_while_unloading \
	test_removal_with_policies test_churn_while_writing \
	test_mkdir_does_not_wait_for_hooks test_deep_nesting \
	test_same_name_again_and_again test_id_re_use test_id_re_use_at_once \
	test_trees_while_loading_and_unloading
