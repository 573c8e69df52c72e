#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run-tests.sh [PLAN]: all of tests/plan, or of tests/PLAN, a summary, and on the last line
# "N passed, N failed" (", N skipped" if there are any). Exit status 0 if
# nothing failed. In the environment:
#   TESTS="basic unit"   only tests and steps with these names
#   SERIES="7.2 6.18"    only these series of kernels
#   SLOTS=N              guest CPUs at a time; by default those of the machine
# Everything is in build/results/test (plan-debug: test-debug): a log for each
# step, a directory for each guest, and the file "summary".

set -uo pipefail
WANT_TESTS=${TESTS:-} WANT_SERIES=${SERIES:-}
unset TESTS SERIES MAKEFLAGS MFLAGS MAKELEVEL MAKEOVERRIDES
# shellcheck source=tests/qemu/lib.sh
. "$(dirname "$0")/qemu/lib.sh"
cd "$TOP/tests" || exit 1

PLAN=${1:-plan}
RESULTS=$BUILD/results/test${PLAN#plan}
HOST_LIMIT=1800		# seconds for a host step
MEM_PER_SLOT=2000000	# kB
declare -A RELEASE=()	# of a series that is there
declare -A WHY_NOT=()	# reason for one that is not
# A job's number is the index into all of these.
NAME=() SLOTS_OF=() COMMAND=() SKIP=() PID=() START=() RESULT=() TIME=()
passed=0 failed=0 skipped=0

trim() { local s=$1; s=${s#"${s%%[! ]*}"}; echo "${s%"${s##*[! ]}"}"; }

# wanted NAME: is this test or step among TESTS?
wanted() {
	local t

	[ -n "$WANT_TESTS" ] || return 0
	for t in $WANT_TESTS; do
		[ "$t" != "$1" ] || return 0
	done
	return 1
}

# add_job NAME SLOTS SKIP_REASON COMMAND...
add_job() {
	NAME+=("$1") SLOTS_OF+=("$2") SKIP+=("$3")
	shift 3
	COMMAND+=("$(printf '%q ' "$@")")
}

# add_guest KIND NAME SERIES OPTIONS TEST...
add_guest() {
	local kind=$1 name=$2 series=$3 slots=2 cmd
	local -a opts

	read -ra opts <<<"$4"
	shift 4
	cmd=(qemu/run.sh --series "$series" --out "$RESULTS/$name-$series" "${opts[@]}")
	[ "$kind" = smp ] || { slots=1; cmd+=(--icount); }
	add_job "$series $name" "$slots" "${WHY_NOT[$series]:-}" "${cmd[@]}" "$@"
}

# A series that is there, 7.2 by preference, for host steps that boot something.
any_series() {
	local s

	for s in 7.2 "${!RELEASE[@]}"; do
		[ -z "${RELEASE[$s]:-}" ] || break
	done
	echo "$s"
}

# plan_line KIND NAME SERIES OPTIONS TESTS
plan_line() {
	local kind=$1 name=$2 series=$3 options=$4 one s
	local -a chosen=() list host

	case $kind in
	host)
		wanted "$name" || return 0
		read -ra host <<<"${5//@series/$(any_series)}"
		add_job "$name" 1 "" env SERIES="$WANT_SERIES" timeout -k 10 "$HOST_LIMIT" "${host[@]}"
		return
		;;
	smp|icount) ;;
	*) die "tests/$PLAN: there is no kind \"$kind\" (host, smp, icount)" ;;
	esac
	IFS=, read -ra list <<<"$5"
	for one in "${list[@]}"; do
		one=$(trim "$one")
		s=${one%% *}
		s=$(basename "$s" .sh)
		if wanted "$name" || wanted "$s"; then chosen+=("$one"); fi
	done
	((${#chosen[@]})) || return 0
	[ "$series" != all ] || series=$ALL_SERIES
	for s in $series; do
		if [ -n "$WANT_SERIES" ] && [[ " $WANT_SERIES " != *" $s "* ]]; then continue; fi
		add_guest "$kind" "$name" "$s" "$options" "${chosen[@]}"
	done
}

read_plan() {
	local kind name series options tests

	while IFS='|' read -r kind name series options tests; do
		case $kind in ''|'#'*) continue ;; esac
		[ -n "$(trim "$tests")" ] || die "tests/$PLAN: a line without tests: $kind|$name"
		plan_line "$(trim "$kind")" "$(trim "$name")" "$(trim "$series")" "$(trim "$options")" "$(trim "$tests")"
	done <"$PLAN"
}

# The series that the plan names, each once.
plan_series() {
	sed -n '/^#/d; s/^\(smp\|icount\) *|[^|]*| *\([^|]*[^| ]\) *|.*/\2/p' "$PLAN" |
		sed "s/\<all\>/$ALL_SERIES/" | tr ' ' '\n' | awk '!seen[$0]++' | tr '\n' ' '
}

# Which series are there; what they need is fetched.
prepare() {
	local series state rest log=$RESULTS/prepare.log

	# shellcheck disable=SC2086 # lists
	qemu/prepare.sh ${WANT_SERIES:-$PLAN_SERIES} 2>&1 | tee "$log"
	[ "${PIPESTATUS[0]}" = 0 ] || { say "tests/qemu/prepare.sh failed"; return 1; }
	while read -r series state rest; do
		case $state in
		ok) RELEASE[$series]=$rest ;;
		SKIP) WHY_NOT[$series]=$rest ;;
		esac
	done < <(grep -E '^[0-9.]+(-[a-z]+)? (ok|SKIP) ' "$log")
	for series in ${WANT_SERIES:-$PLAN_SERIES}; do
		[ -n "${RELEASE[$series]:-}${WHY_NOT[$series]:-}" ] || { say "prepare.sh said nothing of $series"; return 1; }
	done
}

job_log() { echo "$RESULTS/${NAME[$1]// /-}.log"; }

start_job() {
	local i=$1 log

	log=$(job_log "$i")
	START[i]=$(now_ms)
	# A process group of its own, so that all of it can be ended. exec: the PID
	# is that of the command.
	(eval "exec setsid -w ${COMMAND[i]}") >"$log" 2>&1 </dev/null &
	PID[i]=$!
	say "starts: ${NAME[i]}"
}

# show LOG: what matters of a failed step
show() {
	tail -n 100 "$1" | sed 's/^/    /'
	say "all of it is in $1"
}

# problems LOG: what ktap.awk finds in each KTAP document of a log, but for the
# failures, which are counted already
problems() {
	local dir piece

	dir=$(mktemp -d "$RESULTS/ktap.XXXXXX")
	awk -v dir="$dir" 'BEGIN { n = 1000 }
		/^KTAP version 1/ { n++ }
		{ print >(dir "/" n) }' "$1"
	# What stands before the first document is no document.
	[ ! -e "$dir/1001" ] || rm -f "$dir/1000"
	for piece in "$dir"/*; do
		awk -f qemu/ktap.awk "$piece"
	done | sed -n 's/^problem //p' | grep -v '^not ok'
	rm -rf "$dir"
}

# end_job I STATUS: judge by the log, never by the status alone
end_job() {
	local i=$1 rc=$2 log p f s bad time

	log=$(job_log "$i")
	time=$(since "${START[i]}")
	p=$(grep -E '^ok [0-9]+' "$log" | grep -cvE '# *SKIP')
	f=$(grep -cE '^not ok [0-9]+' "$log")
	s=$(grep -E '^ok [0-9]+' "$log" | grep -cE '# *SKIP')
	bad=$(problems "$log" | tr '\n' ';')
	if [ "$rc" = 4 ] && [ "$((p + f + s))" = 0 ]; then
		SKIP[i]=$(sed -n 's/.*# *SKIP *//p' "$log" | head -n 1)
		if [ -n "${SKIP[i]}" ]; then
			skip_job "$i" "$time"
			return
		fi
		bad="skipped without a reason"
	elif [ "$rc" != 0 ] && [ "$rc" != 4 ] && [ "$f" = 0 ]; then
		bad+="ended with status $rc$( ((rc == 124 || rc == 137)) && echo ' (time limit, or killed)')"
	elif [ "$((p + f + s))" = 0 ]; then
		bad="no results"
	fi
	[ -z "$bad" ] || f=$((f + 1))
	record "$i" "$p" "$f" "$s" "$time"
	if [ "$f" = 0 ]; then
		say "passed: ${NAME[i]}: $p results, $time"
		grep -E '^ok [0-9]+.*# *SKIP' "$log" | sed 's/^/    /'
		show_counts "$i"
	else
		say "FAILED: ${NAME[i]}, $time${bad:+: $bad}"
		show "$log"
	fi
}

# skip_job I [TIME]: no time if it was not even started
skip_job() {
	record "$1" 0 0 1 "${2:--}"
	say "skipped: ${NAME[$1]}: ${SKIP[$1]}"
}

# What the proofs measured, for the reader.
show_counts() {
	local dir=$RESULTS/${NAME[$1]#* }-${NAME[$1]%% *}

	[[ ${COMMAND[$1]} = *--icount* ]] || return 0
	cat "$dir"/*.ktap | grep -E '^# ' | sed 's/^# /    /'
}

record() {
	local i=$1

	RESULT[i]="$2 $3 $4"
	TIME[i]=$5
	passed=$((passed + $2)) failed=$((failed + $3)) skipped=$((skipped + $4))
}

# What runs now, with the last line of each; every HEARTBEAT seconds.
heartbeat() {
	local i last

	for i in "${!PID[@]}"; do
		last=$(tail -c 300 "$(job_log "$i")" | tr -d '\r\0' | grep -a . | tail -n 1 | cut -c1-90)
		say "${NAME[i]} ($(since "${START[i]}")): ${last#\# }"
	done
}

# Starts whatever fits, in the order of the plan, until all is done.
run_jobs() {
	local i free=$SLOTS next=0 beat need rc

	beat=$(now_ms)
	while ((next < ${#NAME[@]} || ${#PID[@]})); do
		while ((next < ${#NAME[@]})); do
			if [ -n "${SKIP[next]}" ]; then
				skip_job "$next"
				next=$((next + 1))
				continue
			fi
			need=$((SLOTS_OF[next] < SLOTS ? SLOTS_OF[next] : SLOTS))
			((need <= free)) || break
			start_job "$next"
			free=$((free - need))
			next=$((next + 1))
		done
		for i in "${!PID[@]}"; do
			kill -0 "${PID[i]}" 2>/dev/null && continue
			rc=0
			wait "${PID[i]}" || rc=$?
			# Whatever it left behind.
			kill -KILL -- "-${PID[i]}" 2>/dev/null
			unset "PID[i]"
			free=$((free + (SLOTS_OF[i] < SLOTS ? SLOTS_OF[i] : SLOTS)))
			end_job "$i" "$rc"
			beat=$(now_ms)
		done
		if (($(now_ms) - beat >= HEARTBEAT * 1000)); then
			heartbeat
			beat=$(now_ms)
		fi
		sleep 0.2
	done
}

# Guest CPUs at a time: those of the machine, if the memory is enough.
choose_slots() {
	local by_memory

	by_memory=$(($(awk '/MemAvailable/ { print $2 }' /proc/meminfo) / MEM_PER_SLOT))
	SLOTS=${SLOTS:-$(($(nproc) < by_memory ? $(nproc) : by_memory))}
	((SLOTS > 0)) || SLOTS=1
}

end_all() {
	local i

	for i in "${!PID[@]}"; do
		# The guest's script first: it ends its QEMU.
		kill -TERM -- "-${PID[i]}" 2>/dev/null || kill -TERM "${PID[i]}" 2>/dev/null
	done
}

summary() {
	local i p f s

	printf '\n%-28s %7s %7s %8s  %s\n' step passed failed skipped time
	for i in "${!NAME[@]}"; do
		read -r p f s <<<"${RESULT[i]:-0 1 0}"
		printf '%-28s %7d %7d %8d  %s%s\n' "${NAME[i]}" "$p" "$f" "$s" "${TIME[i]:--}" \
			"$([ "$f" = 0 ] || echo '   FAILED')"
	done
	for i in "${!WHY_NOT[@]}"; do echo "no kernel $i: ${WHY_NOT[$i]}"; done
	echo "total time: $(since "$T0")"
}

# The last line. Nothing runs after it.
verdict() {
	echo "$passed passed, $failed failed$( ((skipped)) && echo ", $skipped skipped")" | tee "$RESULTS/summary"
	[ "$failed" = 0 ]
	exit
}

T0=$(now_ms)
rm -rf "$RESULTS"
mkdir -p "$RESULTS" || die "$RESULTS cannot be made"
trap end_all EXIT
trap 'exit 1' INT TERM HUP
need_root
need_host_tools
[ -r "$PLAN" ] || die "there is no plan tests/$PLAN"
PLAN_SERIES=$(plan_series)
for s in $WANT_SERIES; do
	[[ " $PLAN_SERIES " = *" $s "* ]] || die "tests/$PLAN has no series $s; there are: $PLAN_SERIES"
done
if ! prepare; then
	failed=1
	verdict
fi
choose_slots
read_plan
((${#NAME[@]})) || die "tests/$PLAN has no test named: $WANT_TESTS"
say "${#NAME[@]} steps, $SLOTS guest CPUs at a time"
run_jobs
summary
guests=0 ran=0
for i in "${!NAME[@]}"; do
	[[ ${COMMAND[i]} = *qemu/run.sh* ]] || continue
	guests=$((guests + 1))
	[ "${TIME[i]}" = - ] || ran=$((ran + 1))
done
if ((guests && !ran)); then
	echo "no guest ran at all: that is a failure"
	failed=$((failed + 1))
fi
verdict
