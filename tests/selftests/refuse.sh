#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Loading where there is nothing to do: on a kernel booted with
# cgroup_disable=memory the module must refuse, say why, and leave nothing.
# lib.sh is of no use here: it asks for the memory controller.

MGLRU_KO=${MGLRU_KO:-}
FUNCTIONS='^(folio_add_lru|lru_add|lru_gen_set_refs|mem_cgroup_css_online|mem_cgroup_css_offline) '

if ! grep -qw cgroup_disable=memory /proc/cmdline; then
	echo "1..0 # SKIP for a kernel booted with cgroup_disable=memory"
	exit 4
fi

bad=0
result() { # result NUMBER DESCRIPTION STATUS
	if [ "$3" = 0 ]; then
		echo "ok $1 $2"
	else
		echo "not ok $1 $2"
		bad=1
	fi
}

echo "KTAP version 1"
echo "1..4"
if [ -n "$MGLRU_KO" ]; then
	error=$(insmod "$MGLRU_KO" 2>&1)
else
	error=$(modprobe mglru_policy 2>&1)
fi
status=$?
echo "# $error"
[ $status != 0 ]
result 1 "loading fails" $?
grep -qi "not supported" <<<"$error"
result 2 "with EOPNOTSUPP" $?
dmesg | grep -q 'mglru_policy: memory cgroups are disabled; boot without cgroup_disable=memory'
result 3 "the log says why and what to do" $?
[ ! -e /sys/kernel/mglru_policy ] && ! grep -qE "$FUNCTIONS" /sys/kernel/tracing/enabled_functions
result 4 "nothing is left behind" $?
exit $bad
