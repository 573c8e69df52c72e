#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Load, the files, writing policies, inheritance, unload.
. "$(dirname "$0")/lib.sh"

# 6.12 has no lru_gen_set_refs; 7.x needs it for set_active, 6.18 does not.
POLICIES="set_active mark_accessed mark_accessed_v3 fault_youngest readahead_credit"

# 6.12's walk promotes everything on the first access.
HAVE_EXEC=1
case ${SERIES:-$(uname -r)} in 6.12*) HAVE_EXEC= ;; esac

# Some thousand anonymous faults in a cgroup.
faults_in() {
	(echo "$BASHPID" >"$CGROOT/$(cgpath "$1")/cgroup.procs"
		exec dd if=/dev/zero of=/dev/null bs=4M count=1 status=none)
}

test_load_and_files() {
	local f
	ok load load
	ok "module is listed" loaded
	for f in available unavailable hooks cgroup/mglru.policy cgroup/mglru.effective cgroup/mglru.stat; do
		ok "file $f is readable" cat "$MGLRU/$f" >/dev/null
	done
	is "root's policy" original "$(cat "$MGLRU/cgroup/mglru.policy")"
	is "root's effective" original "$(cat "$MGLRU/cgroup/mglru.effective")"
	for p in original $POLICIES; do
		ok "$p is available" grep -qx "$p" "$MGLRU/available"
	done
	is "lines of unavailable without a reason" "" "$(grep -v '^[a-z_=]*: .' "$MGLRU/unavailable")"
	is "mode of mglru.policy" 644 "$(stat -c %a "$MGLRU/cgroup/mglru.policy")"
	is "mode of mglru.effective" 444 "$(stat -c %a "$MGLRU/cgroup/mglru.effective")"
}

test_only_observers_at_original() {
	is "functions that ftrace holds" "mem_cgroup_css_offline mem_cgroup_css_online " "$(enabled_functions)"
	is "folio_add_lru" idle "$(hook_state folio_add_lru)"
	is "lru_add" idle "$(hook_state lru_add)"
}

# Each policy: is set, takes effect, attaches, decides, is taken back.
test_each_policy() {
	local p
	cg a
	for p in $POLICIES; do
		ok "set $p" set_policy a "$p"
		is "asked" "$p" "$(asked a)"
		is "effective" "$p" "$(effective a)"
		is "folio_add_lru under $p" attached "$(hook_state folio_add_lru)"
		ok "ftrace has folio_add_lru" grep -q '^folio_add_lru .*I' "$TRACING/enabled_functions"
		faults_in a
		set_policy a inherit
		is "effective after $p" original "$(effective a)"
	done
	between "decisions counted" 1 1000000 $(($(stat_of a add_active) + $(stat_of a add_accessed) + $(stat_of a add_youngest)))
	is "functions that ftrace holds afterwards" "mem_cgroup_css_offline mem_cgroup_css_online " "$(enabled_functions)"
}

test_values_with_and_without_newline() {
	cg a
	is "without" 0 "$(write_error set_active "$(mdir a)/mglru.policy")"
	is "asked" set_active "$(asked a)"
	is "with" 0 "$(write_error 'fault_youngest\n' "$(mdir a)/mglru.policy")"
	is "asked" fault_youngest "$(asked a)"
}

test_bad_input_changes_nothing() {
	local f garbage before
	cg a
	f=$(mdir a)/mglru.policy
	set_policy a set_active
	before=$(cat "$MGLRU/hooks")
	garbage=$(head -c 3000 /dev/urandom | base64 -w0)
	log_mark
	is "unknown word" "Invalid argument" "$(write_error nonsense "$f")"
	ok "log names the word" log_has "a/mglru.policy: 'nonsense'"
	is "newline alone" "Invalid argument" "$(write_error '\n' "$f")"
	is "blank" "Invalid argument" "$(write_error ' ' "$f")"
	is "4 KiB of garbage" "Invalid argument" "$(write_error "${garbage:0:4000}" "$f")"
	is "two placements" "Invalid argument" "$(write_error set_active+fault_youngest "$f")"
	ok "log says so" log_has "'fault_youngest': a second placement"
	is "plus at the end" "Invalid argument" "$(write_error set_active+ "$f")"
	is "two newlines" "Invalid argument" "$(write_error 'set_active\n\n' "$f")"
	is "escape sequences" "Invalid argument" "$(write_error '\033[31mred' "$f")"
	ok "log escapes them" log_has "'..?e\[31mred'|'.x1b\[31mred'|33\[31mred"
	is "inherit with more" "Invalid argument" "$(write_error inherit+set_active "$f")"
	if [ "$HAVE_EXEC" ]; then
		is "twice" "Invalid argument" "$(write_error exec_promotion+exec_promotion "$f")"
		is "both" "Invalid argument" "$(write_error exec_promotion+set_active+no_exec_promotion "$f")"
		ok "log says so" log_has "'no_exec_promotion': repeats or contradicts"
		is "inherit behind it" "Invalid argument" "$(write_error exec_promotion+inherit "$f")"
		ok "log says so" log_has "inherit stands alone"
		is "inherit behind all" "Invalid argument" "$(write_error exec_promotion+set_active+inherit "$f")"
		is "blank in between" "Invalid argument" "$(write_error 'exec_promotion +set_active' "$f")"
	else
		is "exec_promotion" "Operation not supported" "$(write_error fault_youngest+exec_promotion "$f")"
		is "no_exec_promotion" "Operation not supported" "$(write_error no_exec_promotion "$f")"
		ok "log says why" log_has "'exec_promotion': before 6.14 the page table walk"
	fi
	is "inherit at the root" "Invalid argument" "$(write_error inherit "$MGLRU/cgroup/mglru.policy")"
	is "asked" set_active "$(asked a)"
	is "hooks" "$before" "$(cat "$MGLRU/hooks")"
	is "read-only file" "Permission denied" "$( (echo x >"$(mdir a)/mglru.effective") 2>&1 | sed 's/.*: //')"
}

# What combines by '+', in any order; which functions it redirects is exec.sh's.
test_modifiers() {
	local w
	[ "$HAVE_EXEC" ] || {
		for w in exec_promotion no_exec_promotion; do
			ok "$w has a reason" grep -q "^$w: .*promotes everything" "$MGLRU/unavailable"
		done
		return
	}
	cg; cg a; cg a/c 2>/dev/null
	for w in exec_promotion no_exec_promotion; do
		ok "$w is available" grep -qx "$w" "$MGLRU/available"
		ok "set $w" set_policy a "$w"
		is "asked" "$w" "$(asked a)"
		ok "set original+$w" set_policy a "original+$w"
		is "effective" "$w" "$(effective a)"
		ok "set $w+fault_youngest" set_policy a "$w+fault_youngest"
		is "effective" "fault_youngest+$w" "$(effective a)"
	done
	ok "what it prints can be written" set_policy a "$(effective a)"
	set_policy a inherit
	is "functions that ftrace holds afterwards" "mem_cgroup_css_offline mem_cgroup_css_online " "$(enabled_functions)"
}

test_inheritance() {
	cg; cg a; cg b
	if [ "$CGV" = 2 ]; then echo +memory >"$CGROOT/$(cgpath a)/cgroup.subtree_control"; fi
	cg a/c
	is "new cgroup asks" inherit "$(asked a/c)"
	set_policy "" set_active
	is "child" set_active "$(effective a)"
	is "grandchild" set_active "$(effective a/c)"
	set_policy a fault_youngest
	is "grandchild after its parent" fault_youngest "$(effective a/c)"
	is "the other child" set_active "$(effective b)"
	cg a/d
	is "born below" fault_youngest "$(effective a/d)"
	set_policy "" mark_accessed
	is "own value stays" fault_youngest "$(effective a)"
	is "the other child again" mark_accessed "$(effective b)"
	set_policy a inherit
	is "grandchild inherits through" mark_accessed "$(effective a/c)"
	echo mark_accessed_v3 >"$MGLRU/cgroup/mglru.policy"
	set_policy "" inherit
	is "from the root" mark_accessed_v3 "$(effective a/d)"
	echo original >"$MGLRU/cgroup/mglru.policy"
	is "all back" original "$(effective a/c)"
	is "functions that ftrace holds" "mem_cgroup_css_offline mem_cgroup_css_online " "$(enabled_functions)"
}

test_removed_cgroup_with_policy() {
	cg a
	set_policy a fault_youngest
	rmdir "$CGROOT/$(cgpath a)"
	ok "its directory goes" wait_for 10 test ! -e "$(mdir a)"
	ok "its hooks go" wait_for 10 hook_is folio_add_lru idle
	cg a
	is "a new one of the same name" inherit "$(asked a)"
	set_policy a fault_youngest
	rmdir "$CGROOT/$(cgpath a)"
	cg a
	is "at once" inherit "$(asked a)"
	is "at once, effective" original "$(effective a)"
}

test_odd_names() {
	local n
	cg
	for n in 'with space' 'per%cent%s' 'back\slash' "quote'\"s" 'üñî' '[glob]*?' '!bang' '-dash' 'colon:semi;' '..x' 'memory.max.x' "$(printf 'ctrl\001x')" "$(printf '%0250d' 7)"; do
		ok "mkdir '$n'" mkdir "$CGROOT/$CG_PARENT/$n"
		ok "directory of '$n'" test -d "$MGLRU/cgroup/$CG_PARENT/$n"
		is "write '$n'" 0 "$(write_error set_active "$MGLRU/cgroup/$CG_PARENT/$n/mglru.policy")"
		rmdir "$CGROOT/$CG_PARENT/$n"
	done
	# A name of ours: no directory, no clash, and it inherits.
	log_mark
	ok "mkdir mglru.policy" mkdir "$CGROOT/$CG_PARENT/mglru.policy"
	ok "still a file" test -f "$MGLRU/cgroup/$CG_PARENT/mglru.policy"
	ok "the log says so" log_has "has the name of one of our files"
	if [ "$CGV" = 2 ]; then echo +memory >"$CGROOT/$CG_PARENT/mglru.policy/cgroup.subtree_control"; fi
	ok "a child of it" mkdir "$CGROOT/$CG_PARENT/mglru.policy/x"
}

test_parameter() {
	unload
	log_mark
	ok "bad parameter is refused" test "$( (load policy=nonsense) 2>&1 >/dev/null | wc -l)" -gt 0
	ok "not loaded" test ! -e "$MGLRU"
	ok "log says why" log_has "parameter policy: 'nonsense'"
	load policy=inherit 2>/dev/null && fail "policy=inherit was accepted"
	ok "load policy=fault_youngest" load policy=fault_youngest
	is "root" fault_youngest "$(cat "$MGLRU/cgroup/mglru.effective")"
	cg a
	is "inherited" fault_youngest "$(effective a)"
	is "parameter is readable" fault_youngest "$(cat /sys/module/mglru_policy/parameters/policy)"
}

test_unload_leaves_nothing() {
	ok unload unload
	ok "no sysfs entry" test ! -e "$MGLRU"
	is "no hook" "" "$(enabled_functions)"
	cg b
	ok "cgroups work" test -d "$CGROOT/$(cgpath b)"
}

test_mglru_switched_off() {
	local enabled=/sys/kernel/mm/lru_gen/enabled old n
	load
	old=$(cat "$enabled")
	cg a
	set_policy a fault_youngest
	echo 0 >"$enabled"
	ok "hooks says so" grep -q 'multi-gen LRU is switched off' "$MGLRU/hooks"
	is "policy stays" fault_youngest "$(effective a)"
	n=$(stat_of a add_youngest)
	faults_in a
	is "and is inert" "$n" "$(stat_of a add_youngest)"
	echo "$old" >"$enabled"
	is "hooks is quiet again" 0 "$(grep -c switched "$MGLRU/hooks")"
	faults_in a
	between "and acts again" $((n + 1)) 1000000 "$(stat_of a add_youngest)"
	unload
}

if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
run_tests test_load_and_files test_only_observers_at_original test_each_policy \
	test_values_with_and_without_newline test_bad_input_changes_nothing test_modifiers test_inheritance \
	test_removed_cgroup_with_policy test_odd_names test_parameter test_unload_leaves_nothing \
	test_mglru_switched_off
