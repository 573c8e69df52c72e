#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Nobody gets in: files are root's, also where a container sees them; no kernel
# address comes out; what users choose, the names of cgroups, does no harm.
# shellcheck disable=SC2086 # our paths have no blanks, where it matters
# shellcheck source=tests/selftests/lib.sh
. "$(dirname "$0")/lib.sh"

ESC=$'\033'
NOBODY=(setpriv --reuid 65534 --regid 65534 --clear-groups)

# writable: what can be written
writable() { find "$MGLRU" -type f -perm /222; }

test_files_are_roots() {
	need_module
	cg a
	is "files or directories that are not root's" "" "$(find "$MGLRU" ! -user 0 -o ! -group 0)"
	is "written by others" "" "$(find "$MGLRU" -perm /022)"
	between "files that root can write" 4 100 "$(writable | wc -l)"
}

test_users_cannot_write() {
	local f before after
	need_module
	cg a
	before=$(writable | xargs cat)
	for f in $(writable); do
		"${NOBODY[@]}" bash -c "echo set_active >$f" 2>/tmp/access.$$ && fail "a user can write $f"
		ok "$f: refused for want of permission" grep -q 'Permission denied' /tmp/access.$$
	done
	after=$(writable | xargs cat)
	is "values" "$before" "$after"
	ok "a user can read the policy" "${NOBODY[@]}" cat "$(mdir a)/mglru.effective" >/dev/null
	rm -f /tmp/access.$$
}

# As a container has it: all of sysfs read-only.
test_read_only_sysfs() {
	local before
	need_module
	cg a
	before=$(asked a)
	unshare -m bash -c "mount -o bind,remount,ro /sys && echo set_active >$(mdir a)/mglru.policy" 2>/tmp/access.$$ &&
		fail "a read-only sysfs can be written"
	ok "refused as read-only" grep -q 'Read-only file system' /tmp/access.$$
	is "value" "$before" "$(asked a)"
	rm -f /tmp/access.$$
}

# addresses: of the kernel, in what is read
addresses() { grep -ahE '(^|[^0-9a-f])(0x)?ffff[89a-f][0-9a-f]{11}([^0-9a-f]|$)'; }

test_no_addresses() {
	local all
	need_module
	cg a
	set_policy a readahead_credit+exec_promotion || set_policy a readahead_credit
	all=$(find "$MGLRU" -type f -perm /444 -exec cat {} + | wc -l)
	between "lines read" 20 100000 "$all"
	is "addresses in files" "" "$(find "$MGLRU" -type f -perm /444 -exec cat {} + | addresses)"
	log_mark
	set_policy a no_such_policy 2>/dev/null && fail "no_such_policy is taken"
	ok "it is logged" log_has 'mglru_policy.*no_such_policy'
	is "addresses in the log" "" "$(dmesg | grep mglru_policy | addresses)"
	is "this finds one" 1 "$(echo "at ffffffff81000000," | addresses | wc -l)"
}

# shellcheck disable=SC2016 # for eval
test_names_of_cgroups() {
	local n long name
	need_module
	cg a
	[ "$CGV" = 1 ] || echo +memory >"$CGROOT/$(cgpath a)/cgroup.subtree_control"
	long=$(printf 'x%.0s' {1..255})
	for name in 'a b' "quote'\"" '%s%n%p' "${ESC}[31m" '*?[' '\x41' $'\xff\xfe' "$long"; do
		ok "mkdir $(printf %q "$name")" mkdir "$CGROOT/$(cgpath a)/$name"
		is "policy of $(printf %q "$name")" inherit "$(cat "$(mdir a)/$name/mglru.policy")"
		ok "set it" eval 'echo set_active >"$(mdir a)/$name/mglru.policy"'
		is "policy of $(printf %q "$name")" set_active "$(cat "$(mdir a)/$name/mglru.effective")"
	done
	# A name that we refuse is told in the log: escaped, on one line, not often.
	log_mark
	mkdir "$CGROOT/$(cgpath a)/mglru.${ESC}[31m%s"
	ok "told, escaped" log_has "mglru_policy: cgroup 'mglru\.\\\\e\[31m%s' "
	is "control characters in the log" 0 "$(dmesg | sed "1,/$LOG_MARK/d" | grep -c "$ESC" || :)"
	for n in {1..60}; do
		mkdir "$CGROOT/$(cgpath a)/mglru.$n"
	done
	between "lines for 60 of them" 1 20 "$(dmesg | sed "1,/$LOG_MARK/d" | grep -c 'mglru_policy: cgroup')"
}

run_tests test_files_are_roots test_users_cannot_write test_read_only_sysfs test_no_addresses test_names_of_cgroups
