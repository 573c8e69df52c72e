#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# selftest.sh [SERIES]: does the harness fail what it must? Seven guests are
# booted, each with another fault; KTAP on stdout. SERIES is 7.2 by default.

set -uo pipefail
cd "$(dirname "$0")" || exit 1
SERIES=${1:-7.2}
RUN=(./run.sh --series "$SERIES" --no-module --tests selftest)
WORK=$(mktemp -d)
trap 'rm -rf "$WORK"' EXIT
n=0 failed=0

result() {	# result STATUS TEXT [LOG]
	n=$((n + 1))
	if [ "$1" = 0 ]; then
		echo "ok $n $2"
	else
		echo "not ok $n $2"
		[ -z "${3:-}" ] || sed 's/^/#   /' "$3"
		failed=1
	fi
}

# guest NAME WANTED_STATUS RUN_ARGS...: boot, then have() looks at what came out
guest() {
	local name=$1 want=$2 rc=0
	shift 2

	LOG=$WORK/$name.log
	"${RUN[@]}" --out "$WORK/$name" "$@" >"$LOG" 2>&1 &
	while kill -0 $! 2>/dev/null; do
		sleep 1
		((SECONDS % 9)) || echo "# guest with $name: $(tail -n 1 "$LOG")"
	done
	wait $! || rc=$?
	[ "$rc" = "$want" ]
	result $? "guest with $name: status $rc, wanted $want" "$LOG"
}

have() {	# have RE TEXT: a line of the last guest's output
	grep -qE -e "$1" "$LOG"
	result $? "$2" "$LOG"
}

patterns() {
	local line bad=0

	while IFS= read -r line; do
		grep -qE -f <(grep -v '^#' bad-log.regex) <<<"$line" || { echo "# not caught: $line"; bad=1; }
	done < <(grep -v '^#' log-samples)
	grep -qE -f <(grep -v '^#' bad-log.regex) <<-'L' && bad=1
	[    0.1] Linux version 7.2
	[    0.2] mglru_policy: loading out-of-tree module taints kernel.
	[    0.3] mglru_policy: module verification failed: signature and/or required key missing - tainting kernel
	[    0.4] kasan: KernelAddressSanitizer initialized
	[    0.5] Debugging: warning
	L
	result $bad "bad-log.regex catches log-samples and no sound line"
}

echo "KTAP version 1"
echo "1..25"
patterns

guest soundness 0 --env 'FOO=a b' 'pass.sh "x y"' 'liar.sh skip'
have '^ok 1 .*6 results' "a sound test passes"
have '^ok 2 .*# SKIP nothing to see' "a skip shows its reason"
have '^ok 3 guest' "a sound guest passes"

guest warning 1 --modules selftest warn.sh
have '^ok 1 ' "the test itself passed"
have 'not ok 2 guest' "the planted warning fails the guest"
have 'WARNING: ' "the warning is shown"
have '^#.*everything is in ' "the place of the logs is shown"

guest liars 1 --test-timeout 3 'liar.sh not-ok' 'liar.sh nested' 'liar.sh no-plan' 'liar.sh short' \
	'liar.sh silent' 'liar.sh status' 'liar.sh slow' 'liar.sh bare-skip' 'liar.sh kmsg'
[ "$(grep -cE '^not ok [1-8] ' "$LOG")" = 8 ]
result $? "failed, nested, unplanned, missing, silent, bad status, endless and unexplained skip all fail" "$LOG"
have '^ok 9 ' "the test that wrote to the kernel log passed itself"
have '^not ok 10 guest' "what it wrote fails the guest"

guest taint 1 --expect-taint 32768 'liar.sh skip'
have 'tainted: 0; expected' "a missing expected taint fails"

guest hang 1 --timeout 10 --append 'init=/usr/bin/sleep -- 1000' 'liar.sh skip'
have 'no end within 10 s' "the hang is told"
have 'no success token' "no token, no success"
have '^not ok 1 .*was not started' "the test is not counted as run"

guest panic 1 --append 'init=/usr/bin/true' 'liar.sh skip'
have 'Kernel panic' "the panic is shown"
have 'did not end by powering off' "a panic is no power off"

guest declared-warning 0 --modules selftest --expect-taint 512 --expect-log 'cut here' --expect-log 'WARNING: ' \
	--expect-log 'RIP: 0010' --expect-log 'Call Trace' warn.sh
have '^ok 2 guest.*taint 12800' "declared log lines and taint pass"

exit $failed
