#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# A test that passes on a sound guest, and looks at what a guest promises.

# shellcheck disable=SC2317 # the functions are called through check
echo "KTAP version 1"
echo "1..6"
n=0
check() {
	n=$((n + 1))
	if "${@:2}"; then echo "ok $n $1"; else echo "not ok $n $1"; bad=1; fi
}
bad=0
has_memory() { grep -qw memory /sys/fs/cgroup/cgroup.subtree_control; }
data_is_big() { [ "$(df --output=avail -m /data | tail -n 1)" -gt 1000 ]; }
has_env() { [ -n "$SERIES" ] && [ -n "$ICOUNT" ] && [ "$DATA" = /data ] && [ "$FOO" = "a b" ]; }
is_series() { case $(uname -r) in "$SERIES"*) ;; *) return 1 ;; esac; }
has_lru_gen() { [ -e /sys/kernel/mm/lru_gen/enabled ] && [ -r /sys/kernel/debug/lru_gen ]; }
check "memory controller in cgroup2" has_memory
check "room in /data" data_is_big
check "environment" has_env
check "kernel of the series" is_series
check "lru_gen in sysfs and debugfs" has_lru_gen
check "argument with a blank" test "$1" = "x y"
exit $bad
