#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# verdict.sh DIR: judge a guest by what it left in DIR (results.raw, console.log,
# run.conf, list, expect-log), as run.sh writes it. Prints KTAP: one result a
# test and one for the guest itself (kernel log, taint, end).
# Exit status: 0 passed, 1 failed, 4 all was skipped.

set -uo pipefail
QEMU_DIR=$(cd "$(dirname "$0")" && pwd)
OUT=$1

# run.conf: NONCE SERIES ENDED SECONDS TIMEOUT EXPECT_TAINT ACCEL
# shellcheck source=/dev/null
. "$OUT/run.conf"
TAINT_MODULE=12288	# out of tree, unsigned

# Splits the results into the KTAP output of each test, the kernel log, and
# "marks": what the harness in the guest said, the nonce taken off.
split_results() {
	rm -f "$OUT"/*.ktap "$OUT"/{dmesg,kmemleak,marks}
	touch "$OUT/marks"
	tr -d '\r\000' <"$OUT/results.raw" | awk -v mark="@$NONCE " -v dir="$OUT" '
		index($0, mark) == 1 {
			line = substr($0, length(mark) + 1)
			print line >(dir "/marks")
			split(line, w, " ")
			file = ""
			if (w[1] == "test") {
				name = w[3]
				gsub(/[^A-Za-z0-9._-]/, "_", name)
				file = sprintf("%s/%02d-%s.ktap", dir, w[2], name)
				printf "" >file
			} else if (w[1] == "dmesg" || w[1] == "kmemleak")
				file = dir "/" w[1]
			next
		}
		file != "" { print >file }'
}

indent() { sed "s/^/#   ${1:-}/"; }

show_tail() {	# show_tail FILE: the end of a log, as KTAP diagnostics
	printf '# the last lines of %s:\n' "$1"
	tail -n 40 "$1" | indent
}

# bad_lines FILE: lines of a kernel log which no guest may have, less those
# that were declared with --expect-log
bad_lines() {
	[ -s "$1" ] || return 0
	if [ -s "$OUT/expect-log" ]; then
		grep -vaE -f "$OUT/expect-log" "$1"
	else
		cat "$1"
	fi | grep -aE -f <(grep -v '^#' "$QEMU_DIR/bad-log.regex")
}

result() {	# result ok|"not ok" TEXT
	number=$((number + 1))
	printf '%s %d %s\n' "$1" "$number" "$2"
	[ "$1" = ok ] || failed=1
}

judge_test() {	# judge_test N COMMAND
	local n=$1 name=$2 file rc ms facts problems reasons results skips all

	file=$(find "$OUT" -name "$(printf '%02d-*.ktap' "$n")" | head -n 1)
	read -r rc ms < <(sed -n "s/^exit $n //p" "$OUT/marks") || rc=''
	if [ -z "$file" ]; then
		result 'not ok' "$name: was not started"
		return
	fi
	if [ -z "$rc" ]; then
		result 'not ok' "$name: did not end"
		show_tail "$file"
		return
	fi
	facts=$(awk -f "$QEMU_DIR/ktap.awk" "$file")
	problems=$(sed -n 's/^problem //p' <<<"$facts")
	reasons=$(sed -n 's/^reason //p' <<<"$facts")
	read -r results skips all < <(sed -n 's/^count //p' <<<"$facts")
	if [ "$rc" = 4 ] && [ -z "$reasons" ]; then
		problems="exit status 4 (skip) without a reason (# SKIP reason)${problems:+$'\n'$problems}"
	elif [ "$rc" = 124 ] || [ "$rc" = 137 ]; then
		problems="time limit (exit status $rc)${problems:+$'\n'$problems}"
	elif [ "$rc" != 0 ] && [ "$rc" != 4 ]; then
		problems="exit status $rc${problems:+$'\n'$problems}"
	fi
	if [ -n "$problems" ]; then
		result 'not ok' "$name"
		indent <<<"$problems"
		show_tail "$file"
		return
	fi
	if [ "$rc" = 4 ] || [ "$all" = 1 ] || { [ "$results" -gt 0 ] && [ "$results" = "$skips" ]; }; then
		skipped=$((skipped + 1))
		result ok "$name # SKIP $(head -n 1 <<<"$reasons")"
		return
	fi
	result ok "$name # $results results, $((ms / 1000)).$((ms / 100 % 10)) s"
	[ -z "$reasons" ] || indent 'skipped: ' <<<"$reasons"
}

judge_guest() {
	local problems='' taint bad re log

	add() { problems+="$1"$'\n'; }
	case $ENDED in
	timeout) add "no end within $TIMEOUT s: stopped" ;;
	exit\ 0) grep -qa 'reboot: Power down' "$OUT/console.log" ||
		add "the guest did not end by powering off (a panic?)" ;;
	*) add "QEMU ended with $ENDED; it said: $(tail -n 3 "$OUT/qemu.log" | tr '\n' ' ')" ;;
	esac
	re=$(sed -n 's/^error //p' "$OUT/marks")
	[ -z "$re" ] || add "the guest's init: $re"
	[ "$(tail -n 1 "$OUT/marks")" = success ] || add "no success token"
	if [ -s "$OUT/dmesg" ]; then
		head -n 3 "$OUT/dmesg" | grep -q 'Linux version' || add "the kernel log is not whole (its begin is lost)"
	else
		add "no kernel log"
	fi
	bad=$({ bad_lines "$OUT/dmesg"; bad_lines "$OUT/console.log"; } | awk '!seen[$0]++' | head -n 20)
	[ -z "$bad" ] || add "the kernel log has:"$'\n'"$bad"
	[ ! -s "$OUT/kmemleak" ] || add "memory leaked:"$'\n'"$(head -n 40 "$OUT/kmemleak")"
	if [ -s "$OUT/expect-log" ]; then
		while IFS= read -r re; do
			grep -qaE -e "$re" "$OUT/dmesg" 2>/dev/null || add "the kernel log lacks what --expect-log declared: $re"
		done <"$OUT/expect-log"
	fi
	taint=$(sed -n 's/^taint //p' "$OUT/marks")
	if [ -n "$taint" ] && (((taint & ~TAINT_MODULE) != (EXPECT_TAINT & ~TAINT_MODULE))); then
		add "the kernel is tainted: $taint; expected 0 or $TAINT_MODULE$( ((EXPECT_TAINT)) && echo ", and $EXPECT_TAINT")"
	fi
	if [ -z "$problems" ]; then
		result ok "guest $RELEASE # $SECONDS_TAKEN s, $ACCEL, taint $taint"
		return
	fi
	result 'not ok' "guest $RELEASE # $SECONDS_TAKEN s, $ACCEL"
	printf '%s' "$problems" | indent
	log=$OUT/dmesg
	[ -s "$log" ] || log=$OUT/console.log
	show_tail "$log"
	printf '# everything is in %s\n' "$OUT"
}

number=0 failed=0 skipped=0
[ -e "$OUT/results.raw" ] || : >"$OUT/results.raw"
[ -e "$OUT/console.log" ] || : >"$OUT/console.log"
split_results
echo "KTAP version 1"
reason=$(sed -n 's/^skip //p' "$OUT/marks")
if [ -n "$reason" ] && [ "$ENDED" = "exit 0" ]; then
	echo "1..0 # SKIP $SERIES: $reason"
	exit 4
fi
mapfile -t tests <"$OUT/list"
echo "1..$((${#tests[@]} + 1))"
for i in "${!tests[@]}"; do
	judge_test $((i + 1)) "$SERIES ${tests[i]}"
done
judge_guest
[ "$failed" = 0 ] || exit 1
[ "$skipped" != "${#tests[@]}" ] || exit 4
exit 0
