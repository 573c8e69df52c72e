#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Others who want the same functions: livepatch, another IPMODIFY user, a direct
# caller, kprobes, tracers, and ftrace switched off. Loads a livepatch, which
# taints the kernel until its reboot: run a guest with --expect-taint 32768.
# neighbours.sh [test_NAME...]: only these.
# shellcheck disable=SC2086,SC2016 # our paths have no blanks; eval expands
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

FTRACE_ENABLED=/proc/sys/kernel/ftrace_enabled
INSTANCE=$TRACING/instances/mglru_selftest

# neighbour_error MODULE [PARAMETER...]: why loading it fails, 0 if it does not.
neighbour_error() {
	local m=$1 e
	shift
	e=$(LC_ALL=C insmod "$MODULES/$m.ko" "$@" 2>&1) && { echo 0; return; }
	echo "${e##*: }"
}

neighbour_calls() { cat "/sys/module/$1/parameters/calls"; }

neighbour_settled() { ! grep -qx 1 "/sys/kernel/livepatch/$1/transition" 2>/dev/null; }

neighbour_on() {
	is "$1 loads" 0 "$(neighbour_error "$1")"
	ok "$1 is settled" wait_for 60 neighbour_settled "$1"
}

neighbour_off() {
	local klp=/sys/kernel/livepatch/$1
	[ -d "/sys/module/$1" ] || return 0
	if [ -d "$klp" ]; then
		wait_for 60 neighbour_settled "$1"
		echo 0 >"$klp/enabled"
		ok "$1 is disabled" wait_for 60 test ! -e "$klp"
	fi
	ok "$1 unloads" rmmod "$1"
}

restore() {
	local m
	if [ -d "$INSTANCE" ]; then
		echo nop >"$INSTANCE/current_tracer"
		rmdir "$INSTANCE"
	fi
	kprobe_off
	for m in mglru_test_ipmodify mglru_test_livepatch mglru_test_direct; do
		neighbour_off "$m"
	done
	if [ -n "${OLD_FTRACE:-}" ]; then echo "$OLD_FTRACE" >$FTRACE_ENABLED; fi
}

# The other holds folio_add_lru when we come.
other_first() {
	local m=$1 n hooks
	ok load load
	cg a
	set_policy a original
	neighbour_on "$m"
	n=$(neighbour_calls "$m")
	fault_in a
	between "$m is live" $((n + 1)) 1000000000 "$(neighbour_calls "$m")"

	log_mark
	is "a write" "Device or resource busy" "$(write_error set_active "$(mdir a)/mglru.policy")"
	is "the old policy, asked" original "$(asked a)"
	is "the old policy, in force" original "$(effective a)"
	is "another policy" "Device or resource busy" "$(write_error fault_youngest "$(mdir a)/mglru.policy")"
	is "the root's" "Device or resource busy" "$(write_error mark_accessed $MGLRU/cgroup/mglru.policy)"
	is "the root, asked" original "$(cat $MGLRU/cgroup/mglru.policy)"
	hooks=$(cat $MGLRU/hooks)
	ok "hooks tells" grep -qx "folio_add_lru ftrace failed 0 (held by livepatch, another IPMODIFY user or a direct caller)" <<<"$hooks"
	is "lru_add" idle "$(hook_state lru_add)"
	ok "log: function, cause, remedy" log_has "mglru_policy: cannot hook folio_add_lru: held by livepatch, another IPMODIFY user or a direct caller \(error -16\); .*enabled_functions.*disable"
	n=$(neighbour_calls "$m")
	fault_in a
	between "$m is live still" $((n + 1)) 1000000000 "$(neighbour_calls "$m")"
	is "no decision of ours" 0 "$(decisions a)"

	# With the parameter, loading needs the hook.
	ok unload unload
	ok "load policy=set_active fails" eval '! load policy=set_active 2>/dev/null'
	ok "not loaded" test ! -e $MGLRU
	ok "not listed" eval '! loaded'
	is "hooks left behind" "folio_add_lru " "$(enabled_functions)"
	ok "load without" load

	neighbour_off "$m"
	is "the write after $m" 0 "$(write_error set_active "$(mdir a)/mglru.policy")"
	is "folio_add_lru" attached "$(hook_state folio_add_lru)"
	ok "hooks has no reason" eval '! grep "^folio_add_lru .*(" $MGLRU/hooks'
	fault_in a
	between "decisions" 1 1000000000 "$(decisions a)"
	ok unload unload
	ok "the log is clean" log_clean
}

# We hold it when the other comes.
ours_first() {
	local m=$1 n
	log_mark
	ok load load
	cg a
	ok "set" set_policy a set_active
	is "$m" "Device or resource busy" "$(neighbour_error "$m")"
	ok "$m is not there" test ! -d "/sys/module/$m"
	is "folio_add_lru" attached "$(hook_state folio_add_lru)"
	is "in force" set_active "$(effective a)"
	n=$(decisions a)
	fault_in a
	between "decisions go on" $((n + 1)) 1000000000 "$(decisions a)"
	ok "take back" set_policy a inherit
	neighbour_on "$m"
	neighbour_off "$m"
	ok unload unload
	ok "the log is clean" log_clean
}

test_second_ipmodify_first() { other_first mglru_test_ipmodify; }
test_ours_before_second_ipmodify() { ours_first mglru_test_ipmodify; }
test_livepatch_first() { other_first mglru_test_livepatch; }
test_ours_before_livepatch() { ours_first mglru_test_livepatch; }
test_direct_caller_first() { other_first mglru_test_direct; }
test_ours_before_direct_caller() { ours_first mglru_test_direct; }

# The neighbour holds the second of two hooks: the first must not stay.
test_second_hook_is_taken() {
	ok load load
	cg a
	is "neighbour on lru_add" 0 "$(neighbour_error mglru_test_ipmodify func=lru_add)"
	log_mark
	is "a write" "Device or resource busy" "$(write_error mark_accessed "$(mdir a)/mglru.policy")"
	is "in force" original "$(effective a)"
	is "folio_add_lru" idle "$(hook_state folio_add_lru)"
	is "lru_add" failed "$(hook_state lru_add)"
	ok "log names it" log_has "cannot hook lru_add: held by"
	is "hooks" "lru_add mem_cgroup_css_offline mem_cgroup_css_online " "$(enabled_functions)"
	neighbour_off mglru_test_ipmodify
	is "then" 0 "$(write_error mark_accessed "$(mdir a)/mglru.policy")"
	ok unload unload
}

# A neighbour on an observer of cgroups: loading fails whole.
test_observer_is_taken() {
	is "neighbour" 0 "$(neighbour_error mglru_test_ipmodify func=mem_cgroup_css_online)"
	log_mark
	is "load" "Device or resource busy" "$(load_error)"
	ok "not loaded" test ! -e $MGLRU
	ok "log names it" log_has "cannot hook mem_cgroup_css_online: held by"
	is "hooks" "mem_cgroup_css_online " "$(enabled_functions)"
	cg b
	neighbour_off mglru_test_ipmodify
	ok "load then" load
	ok "with the cgroup" test -d "$(mdir b)"
	ok unload unload
}

# cannot_switch_ftrace_off ERROR: while the module is loaded.
cannot_switch_ftrace_off() {
	ok "load with ftrace on" load
	[ -d "$CGROOT/$(cgpath a)" ] || cg a
	ok "the cgroup" test -d "$(mdir a)"
	is "to switch it off" "$1" "$(write_error '0\n' $FTRACE_ENABLED)"
	is "ftrace" 1 "$(cat $FTRACE_ENABLED)"
	ok "set" set_policy a set_active
	is "to switch it off with a policy" "$1" "$(write_error '0\n' $FTRACE_ENABLED)"
	fault_in a
	between "decisions" 1 1000000000 "$(decisions a)"
	ok unload unload
}

# shellcheck disable=SC2034 # run_tests prints SKIPPED
test_ftrace_switched_off() {
	local e
	OLD_FTRACE=$(cat $FTRACE_ENABLED)
	e=$(write_error '0\n' $FTRACE_ENABLED)
	case $e in
	0) ;;
	"Operation not supported")
		say "this kernel's ftrace cannot be switched off any more (7.3 and later)"
		cannot_switch_ftrace_off "$e"
		return
		;;
	"Device or resource busy")
		# Nobody else is in a guest: then it is a hook that we left behind.
		if [ -n "${SERIES:-}" ]; then
			fail "ftrace is held although the module is not loaded"
		else
			SKIPPED="somebody else keeps ftrace from being switched off"
		fi
		return
		;;
	*) fail "ftrace_enabled: $e"; return ;;
	esac
	log_mark
	is "load" "Operation not permitted" "$(load_error)"
	is "load with a policy" "Operation not permitted" "$(load_error policy=set_active)"
	ok "log: function, cause, remedy" log_has "mglru_policy: cannot hook mem_cgroup_css_(on|off)line: ftrace is switched off \(error -1\); write 1 to /proc/sys/kernel/ftrace_enabled"
	ok "not listed" eval '! loaded'
	ok "no sysfs entry" test ! -e $MGLRU
	cg a
	echo 1 >$FTRACE_ENABLED
	is "hooks left behind" "" "$(enabled_functions)"

	cannot_switch_ftrace_off "Device or resource busy"
	echo "$OLD_FTRACE" >$FTRACE_ENABLED
	ok "the log is clean" log_clean
}

kprobe_off() {
	if grep -q mglru_selftest $TRACING/kprobe_events 2>/dev/null; then
		echo 0 >$TRACING/events/mglru_selftest/enable
		echo '-:mglru_selftest/p' >>$TRACING/kprobe_events
		echo '-:mglru_selftest/r' >>$TRACING/kprobe_events
	fi
}

kprobe_on() {
	echo 'p:mglru_selftest/p folio_add_lru' >>$TRACING/kprobe_events
	echo 'r:mglru_selftest/r folio_add_lru' >>$TRACING/kprobe_events
	echo 1 >$TRACING/events/mglru_selftest/enable
}

kprobe_hits() { awk -v e="$1" '$1 == e {print $2}' $TRACING/kprobe_profile; }

# both_live DESCRIPTION HITS...: our decisions and the neighbour's hits grow.
both_live() {
	local what=$1 n hits
	shift
	n=$(decisions a)
	hits=$("$@")
	fault_in a
	between "$what: decisions" $((n + 1)) 1000000000 "$(decisions a)"
	between "$what: hits" $((hits + 1)) 1000000000 "$("$@")"
}

test_kprobe_beside_us() {
	local p n
	log_mark
	ok load load
	cg a
	set_policy a mark_accessed
	kprobe_on
	both_live "kprobe after us" kprobe_hits p
	both_live "kretprobe after us" kprobe_hits r
	set_policy a inherit
	for p in set_active fault_youngest mark_accessed; do
		ok "$p, kprobe before us" set_policy a $p
		is "in force" $p "$(effective a)"
		both_live "$p" kprobe_hits p
	done
	kprobe_off
	n=$(decisions a)
	fault_in a
	between "after the kprobe" $((n + 1)) 1000000000 "$(decisions a)"
	ok unload unload
	ok "the log is clean" log_clean
}

tracer_hits() { grep -c ' folio_add_lru <' "$INSTANCE/trace"; }

test_function_tracer_beside_us() {
	local p n
	log_mark
	ok load load
	cg a
	set_policy a mark_accessed
	mkdir "$INSTANCE"
	echo 'folio_add_lru lru_add mem_cgroup_css_online' >"$INSTANCE/set_ftrace_filter"
	ok "tracer" eval 'echo function >"$INSTANCE/current_tracer"'
	both_live "tracer after us" tracer_hits
	set_policy a inherit
	for p in set_active fault_youngest mark_accessed; do
		echo >"$INSTANCE/trace"
		ok "$p, tracer before us" set_policy a $p
		is "folio_add_lru" attached "$(hook_state folio_add_lru)"
		both_live "$p" tracer_hits
	done
	cg b
	ok "new cgroup" test -d "$(mdir b)"
	ok "unload under the tracer" unload
	echo >"$INSTANCE/trace"
	fault_in a
	between "the tracer goes on" 1 1000000000 "$(tracer_hits)"
	ok "load under the tracer" load
	ok "set" set_policy a set_active
	both_live "again" tracer_hits
	echo nop >"$INSTANCE/current_tracer"
	rmdir "$INSTANCE"
	n=$(decisions a)
	fault_in a
	between "after the tracer" $((n + 1)) 1000000000 "$(decisions a)"
	ok unload unload
	is "hooks left behind" "" "$(enabled_functions)"
	ok "the log is clean" log_clean
}

if loaded; then skip_all "mglru_policy is loaded; unload it first"; fi
for m in ipmodify livepatch direct; do
	[ -e "$MODULES/mglru_test_$m.ko" ] || skip_all "no $MODULES/mglru_test_$m.ko; build tests/modules and set MODULES"
done
[ $# = 0 ] || { run_tests "$@"; exit; }
run_tests test_second_ipmodify_first test_ours_before_second_ipmodify \
	test_direct_caller_first test_ours_before_direct_caller \
	test_livepatch_first test_ours_before_livepatch \
	test_second_hook_is_taken test_observer_is_taken test_ftrace_switched_off \
	test_kprobe_beside_us test_function_tracer_beside_us
