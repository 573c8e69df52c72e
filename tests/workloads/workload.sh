#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Run one workload in a cgroup of its own and print what the kernel counted while it ran.
# As a command: workload.sh --help. As a library: source it, then call workload_run with the same
# arguments; it runs in a subshell, so the caller's traps and variables stay as they are.

workload_usage() {
	cat <<'END'
usage: workload.sh A [--file 60M] [--stride 64K] [--warm 4] [--passes 4] [--exec]
       workload.sh B [--text 8M|16M] [--case ra|cp|demand] [--pressure 48M] [--passes 4] [--seed 1]
       workload.sh C [--file 600M] [--readers 40] [--run 2M] [--warm 10000] [--pages 20000] [--passes 1] [--seed 1]
       workload.sh D [--size 64M] [--skip 4] [--agings 5] [--thp] [--late]
for each:
  --limit SIZE    memory.max (A and B: 40M, C: 20M, D: 1G)
  --cgroup NAME   run in this cgroup below the cgroup root; made and removed if it does not exist yet,
                  used as it is but for memory.max if it does (default: a fresh mglru-workload-PID)
  --setup CMD     shell command, run outside the cgroup before anything is charged to it
  --at N=CMD      the same, with N passes finished, the run held meanwhile; may be given many times
                  (C: pass 1 is the warm pages; A: passes count from the first warm one)
  --per-pass      also print a line "pass=N ..." for every pass, warm ones included
The commands see WORKLOAD_CGROUP (the cgroup's path below the root), WORKLOAD_CGROUP_DIR and WORKLOAD_PASS.
environment:
  DATA            directory for data files and copied binaries, on a local disk (default: /data)
  WORKLOAD_BIN    directory of the programs (default: /mglru/bin if there, else bin beside this script)
  CGROUP_ROOT     where cgroup v2 is mounted (default: /sys/fs/cgroup)
D ages memory through /sys/kernel/debug/lru_gen and prints how long that takes; it has no passes, and makes
64 MiB of swap in DATA while it runs if there is none.
Prints one line of key=value pairs. The counters are the cgroup's, over the measured passes only: A after
--warm, B after pass 1, C after the warm pages. Notes and errors go to stderr. Exit: 0 done, 1 failed, 2 usage.
END
}

workload_note() { echo "workload: $*" >&2; }
workload_die() { workload_note "$*"; exit 1; }

# The block device's setting decides what is read ahead: the experiments are defined for 128 KiB. A file
# takes it over when it is opened. For a partition it is the whole disk's.
workload_readahead() {
	local id f
	id=$(stat -c %Hd:%Ld "$DATA") || workload_die "DATA=$DATA: no such directory; make it or set DATA"
	for f in "/sys/dev/block/$id/queue" "/sys/dev/block/$id/../queue" "/sys/class/bdi/$id"; do
		[ -w "$f/read_ahead_kb" ] || continue
		wl_ra_file=$f/read_ahead_kb
		wl_ra_old=$(<"$wl_ra_file")
		[ "$wl_ra_old" = 128 ] && return
		echo 128 >"$wl_ra_file" || workload_die "cannot set $wl_ra_file to 128"
		workload_note "set $wl_ra_file from $wl_ra_old to 128 for this run"
		return
	done
	workload_die "no read_ahead_kb for the device $id of $DATA; set DATA to a directory on a local disk (ext4 or xfs)"
}

# DAMON's statistics, on by default since 6.17, clear accessed bits of pages that they sample. Then the same run
# gives other numbers each time, and agings see fewer accesses. Off for this run.
workload_damon() {
	wl_damon_file=/sys/module/damon_stat/parameters/enabled
	wl_damon_old=$(cat "$wl_damon_file" 2>/dev/null) || return 0
	[ "$wl_damon_old" = Y ] || return 0
	# Another run may be switching it off at the same moment.
	echo N >"$wl_damon_file" 2>/dev/null
	[ "$(<"$wl_damon_file")" = N ] || workload_die "cannot switch $wl_damon_file off"
	workload_note "set $wl_damon_file from Y to N for this run"
}

# Enable the memory controller for the children of every group from the root down to $1's parent.
workload_enable_memory() {
	local dir=$CGROUP_ROOT part
	grep -qw memory "$dir/cgroup.controllers" 2>/dev/null ||
		workload_die "no memory controller in $dir/cgroup.controllers; mount cgroup v2 there (boot with systemd.unified_cgroup_hierarchy=1) or set CGROUP_ROOT"
	local IFS=/
	for part in $1; do
		[ -d "$dir" ] || workload_die "no cgroup $dir; make it first, only the last part of --cgroup is made here"
		if ! grep -qw memory "$dir/cgroup.subtree_control"; then
			echo +memory >"$dir/cgroup.subtree_control" ||
				workload_die "cannot enable memory in $dir/cgroup.subtree_control; no process may live in that group itself"
			workload_note "enabled memory in $dir/cgroup.subtree_control"
		fi
		dir=$dir/$part
	done
}

workload_cgroup() {
	workload_enable_memory "$wl_cgroup"
	wl_dir=$CGROUP_ROOT/$wl_cgroup
	if [ ! -d "$wl_dir" ]; then
		mkdir "$wl_dir" || workload_die "cannot make the cgroup $wl_dir"
		wl_made=$wl_dir
	elif [ -s "$wl_dir/cgroup.procs" ] && [ -n "$(<"$wl_dir/cgroup.procs")" ]; then
		workload_die "the cgroup $wl_dir has processes in it; give an empty one"
	fi
	echo "$wl_limit" >"$wl_dir/memory.max" || workload_die "cannot set $wl_dir/memory.max to $wl_limit"
}

workload_drop_caches() {
	sync
	echo 3 >/proc/sys/vm/drop_caches || workload_die "cannot drop caches: run as root"
}

# $1 = size: the data file of that size, made if it is missing; its name is left in wl_file.
workload_data() {
	wl_file=$DATA/mglru-data-$1
	[ -f "$wl_file" ] && return
	workload_note "making $wl_file"
	"$WORKLOAD_BIN/mkdata" "$wl_file" "$1" || workload_die "could not make $wl_file"
}

# memory.stat is brought up to date when more than 64 events a CPU are pending, else by a flush every 2 s (2.26 s
# with the timer wheel's rounding). The flush hangs on a deferrable timer, which an idle CPU does not wake for,
# so let every CPU see a tick; then the flusher needs a moment to run. The workload stands still meanwhile.
workload_settle() {
	local cpu pids=()
	sleep 2.3
	for cpu in /sys/devices/system/cpu/cpu[0-9]*; do
		# shellcheck disable=SC2016 # for the inner shell
		taskset -c "${cpu##*cpu}" "$BASH" -c 'end=$((${EPOCHREALTIME//[!0-9]/} + 20000))
			while ((${EPOCHREALTIME//[!0-9]/} < end)); do :; done' 2>/dev/null &
		pids+=($!)
	done
	wait "${pids[@]}" || : # an offline CPU has no ticks and nothing pending
	sleep 0.1
}

# Counters now, a "name value" a line: the cgroup's and, as proc_*, the process's own.
workload_snapshot() {
	local pair
	workload_settle
	cat "$wl_dir/memory.stat"
	for pair in $wl_at; do
		echo "proc_${pair/=/ }"
	done
}

# The differences between the snapshots $1 and $2 as key=value pairs.
workload_counters() {
	printf '%s\n--\n%s\n' "$1" "$2" | awk '
	BEGIN {
		n = split("refault_file=workingset_refault_file pgmajfault=pgmajfault pgfault=pgfault pgscan=pgscan " \
			"pgsteal=pgsteal wset_activate=workingset_activate_file wset_restore=workingset_restore_file " \
			"majflt=proc_majflt minflt=proc_minflt text_majflt=proc_text_majflt " \
			"sys_ms=proc_sys_us user_ms=proc_user_us", want)
	}
	$1 == "--" { second = 1; next }
	second { b[$1] = $2; next }
	{ a[$1] = $2 }
	END {
		for (i = 1; i <= n; i++) {
			split(want[i], w, "=")
			if (w[2] == "proc_text_majflt" && !(w[2] in b))
				continue
			if (!(w[2] in a) || !(w[2] in b)) {
				print "workload: no " w[2] " among the counters" >"/dev/stderr"
				exit 1
			}
			d = b[w[2]] - a[w[2]]
			printf("%s%s=%d", (i > 1 ? " " : ""), w[1], (w[1] ~ /_ms$/ ? d / 1000 + 0.5 : d))
		}
		print ""
	}'
}

workload_command() {
	WORKLOAD_CGROUP=$wl_cgroup WORKLOAD_CGROUP_DIR=$wl_dir WORKLOAD_PASS=${2-} bash -c "$1" >&2 </dev/null ||
		workload_die "the command \"$1\" failed with status $?"
}

workload_cleanup() {
	[ -z "$wl_pid" ] || { kill -KILL "$wl_pid"; wait "$wl_pid"; } 2>/dev/null
	[ -z "$wl_made" ] || rmdir "$wl_made" || workload_note "could not remove $wl_made"
	[ -z "$wl_ra_old" ] || [ "$wl_ra_old" = 128 ] || echo "$wl_ra_old" >"$wl_ra_file"
	[ "$wl_damon_old" != Y ] || echo Y >"$wl_damon_file"
	[ -z "$wl_copy" ] || rm -f "$wl_copy"
	[ -z "$wl_swap" ] || { swapoff "$wl_swap" && rm -f "$wl_swap"; }
}

# Anonymous memory is only aged where it could be swapped out.
workload_swap() {
	local size=64
	[ "$(wc -l </proc/swaps)" = 1 ] || return 0
	wl_swap=$DATA/mglru-swap.$$
	{ (umask 077 && dd if=/dev/zero of="$wl_swap" bs=1M count=$size status=none) &&
		mkswap "$wl_swap" >/dev/null && swapon "$wl_swap"; } ||
		workload_die "cannot make $size MiB of swap in $wl_swap"
}

# Why the program is gone: its exit status, and whether the kernel killed it for the limit.
workload_lost() {
	local status=0 oom
	wait "$wl_pid" || status=$?
	wl_pid=
	oom=$(grep -w oom_kill "$wl_dir/memory.events")
	workload_die "the workload ended with $(($1 < 0 ? 0 : $1)) of $wl_total passes finished, status $status (${oom:-no memory.events})"
}

# Run "$@" in the cgroup, stopping at every pass boundary, until wl_total passes are done. Measuring begins
# with wl_warm passes finished.
workload_drive() {
	local at=-1 n word first='' prev='' now='' counters

	for n in "${!wl_commands[@]}"; do
		[ "$n" -le "$wl_total" ] || workload_die "--at $n: this run ends with $wl_total passes finished"
	done
	coproc WL { exec "$WORKLOAD_BIN/run-in-cgroup" "$wl_dir" "$@"; }
	# shellcheck disable=SC2153 # coproc sets WL_PID
	wl_pid=$WL_PID
	local in=${WL[0]} out=${WL[1]}
	while [ "$at" -lt "$wl_total" ]; do
		read -r word n wl_at <&"$in" || workload_lost "$at"
		if [ "$word $n" != "at $((at + 1))" ]; then
			workload_die "the workload said \"$word $n\" after pass $at"
		fi
		at=$n
		if [ -n "$wl_per_pass" ] || [ "$at" = "$wl_warm" ] || [ "$at" = "$wl_total" ]; then
			now=$(workload_snapshot) || exit 1
		fi
		[ "$at" != "$wl_warm" ] || first=$now
		if [ -n "$wl_per_pass" ] && [ "$at" -gt 0 ]; then
			counters=$(workload_counters "$prev" "$now") || exit 1
			echo "pass=$at $counters"
		fi
		prev=$now
		[ -z "${wl_commands[$at]-}" ] || workload_command "${wl_commands[$at]}" "$at"
		echo >&"$out" || workload_lost "$at"
	done
	wait "$wl_pid" || workload_die "the workload failed after its last pass"
	wl_pid=
	counters=$(workload_counters "$first" "$now") || exit 1
	echo "$wl_line $counters"
}

workload_a() {
	local exec=()
	[ -z "$wl_exec" ] || exec=(--exec)
	wl_total=$((wl_warm + wl_passes))
	workload_data "${wl_size:=60M}"
	wl_line+=" file=$wl_size warm=$wl_warm passes=$wl_passes mapping=${wl_exec:-read}"
	workload_drop_caches
	workload_drive "$WORKLOAD_BIN/strided" "$wl_file" --size "$wl_size" --stride "$wl_stride" --passes "$wl_total" \
		--step "${exec[@]}"
}

# Copy the binary, by the command prefix "$@" if any. A write makes a folio as large as itself, and a large
# folio is marked accessed once for each page table entry: it protects itself. Writes of 4 KiB make small ones.
workload_copy_text() {
	"$@" dd if="$WORKLOAD_BIN/text-$wl_text" of="$wl_copy" bs=4k status=none ||
		workload_die "cannot copy text-$wl_text to $wl_copy"
	chmod +x "$wl_copy"
}

workload_b() {
	local text=$WORKLOAD_BIN/text-$wl_text ra=()
	[ -x "$text" ] || workload_die "no program $text: --text takes 8M or 16M"
	[ "$wl_passes" -gt 1 ] || workload_die "--passes $wl_passes: B measures after pass 1, so give 2 or more"
	# Every pass reads new bytes, or the stream itself would refault and drown the text's refaults.
	workload_data "$((${wl_pressure%[KMG]} * (wl_passes - 1)))${wl_pressure##*[0-9]}"
	wl_copy=$DATA/mglru-text-$wl_text.$$
	case $wl_case in
	ra) ra=(--readahead) ;;
	cp | demand) ;;
	*) workload_die "--case $wl_case: give ra, cp or demand" ;;
	esac
	wl_warm=1 wl_total=$wl_passes
	wl_line+=" case=$wl_case text=$wl_text pressure=$wl_pressure passes=$wl_passes seed=$wl_seed"
	# This copy also brings dd and the original in, charged to the caller.
	workload_drop_caches
	workload_copy_text
	if [ "$wl_case" = cp ]; then
		rm "$wl_copy"
		workload_copy_text "$WORKLOAD_BIN/run-in-cgroup" "$wl_dir"
		sync
	else
		workload_drop_caches
	fi
	workload_drive "$wl_copy" "$wl_file" --size "$wl_pressure" --passes "$wl_passes" --seed "$wl_seed" --step "${ra[@]}"
}

workload_c() {
	wl_warm=1 wl_total=$((wl_passes + 1))
	workload_data "${wl_size:=600M}"
	wl_line+=" file=$wl_size readers=$wl_readers run=$wl_run warm=$wl_warm_pages pages=$wl_pages passes=$wl_passes seed=$wl_seed"
	workload_drop_caches
	workload_drive "$WORKLOAD_BIN/readers" "$wl_file" --size "$wl_size" --readers "$wl_readers" --run "$wl_run" \
		--warm "$wl_warm_pages" --pages "$wl_pages" --passes "$wl_passes" --seed "$wl_seed" --step
}

workload_d() {
	local line extra=()
	[ -z "$wl_thp" ] || extra+=(--thp)
	[ -z "$wl_late" ] || extra+=(--late)
	wl_line+=" size=$wl_size skip=$wl_skip agings=$wl_agings pages_are=${wl_thp:-small}"
	workload_drop_caches
	workload_swap
	line=$("$WORKLOAD_BIN/run-in-cgroup" "$wl_dir" "$WORKLOAD_BIN/aging" --size "$wl_size" \
		--skip "$wl_skip" --agings "$wl_agings" "${extra[@]}") || workload_die "the workload failed"
	echo "$wl_line $line"
}

# Check that option $1 has a value, and of the right kind.
workload_value() {
	local kind='^.+$' what='a value'
	case $1 in
	--limit | --file | --size | --stride | --text | --pressure | --run) kind='^[1-9][0-9]*[KMG]?$' what='a size such as 40M' ;;
	--passes | --readers | --pages | --agings) kind='^[1-9][0-9]*$' what='a number above 0' ;;
	--warm | --skip | --seed) kind='^(0|[1-9][0-9]*)$' what='a number' ;;
	--at) kind='^(0|[1-9][0-9]*)=.+$' what='PASSES=COMMAND' ;;
	esac
	[[ ${2-} =~ $kind ]] || { workload_note "$1 \"${2-}\": give $what; see --help"; exit 2; }
}

# Ends the shell it runs in: for a script that sources this file there is workload_run.
workload_main() {
	local which=${1-} here lru_gen
	wl_pid='' wl_made='' wl_ra_old='' wl_ra_file='' wl_damon_old='' wl_damon_file='' wl_copy='' wl_at='' wl_dir=''
	wl_limit='' wl_size='' wl_stride=64K wl_warm=4 wl_passes='' wl_exec='' wl_per_pass='' wl_setup=''
	wl_text=8M wl_case=ra wl_pressure=48M wl_seed=1
	wl_swap='' wl_skip=4 wl_agings=5 wl_thp='' wl_late=''
	wl_readers=40 wl_run=2M wl_warm_pages=10000 wl_pages=20000
	wl_cgroup=mglru-workload-$BASHPID
	declare -A wl_commands=()

	case $which in
	A) : "${wl_limit:=40M}" "${wl_passes:=4}" ;;
	B) : "${wl_limit:=40M}" "${wl_passes:=4}" ;;
	C) : "${wl_limit:=20M}" "${wl_passes:=1}" ;;
	D) : "${wl_limit:=1G}" "${wl_size:=64M}" "${wl_passes:=0}" ;;
	-h | --help) workload_usage; exit 0 ;;
	*) workload_usage >&2; exit 2 ;;
	esac
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help) workload_usage; exit 0 ;;
		--per-pass) wl_per_pass=1; shift; continue ;;
		--exec) wl_exec='exec'; shift; continue ;;
		--thp) wl_thp='huge'; shift; continue ;;
		--late) wl_late=1; shift; continue ;;
		esac
		workload_value "$@"
		case $which:$1 in
		?:--limit) wl_limit=$2 ;;
		?:--cgroup) wl_cgroup=${2#/} ;;
		?:--setup) wl_setup=$2 ;;
		?:--at) wl_commands[${2%%=*}]+=${wl_commands[${2%%=*}]:+ && }${2#*=} ;;
		?:--passes) wl_passes=$2 ;;
		[AC]:--file) wl_size=$2 ;;
		A:--stride) wl_stride=$2 ;;
		A:--warm) wl_warm=$2 ;;
		B:--text) wl_text=$2 ;;
		B:--case) wl_case=$2 ;;
		B:--pressure) wl_pressure=$2 ;;
		[BC]:--seed) wl_seed=$2 ;;
		C:--readers) wl_readers=$2 ;;
		C:--run) wl_run=$2 ;;
		C:--warm) wl_warm_pages=$2 ;;
		C:--pages) wl_pages=$2 ;;
		D:--size) wl_size=$2 ;;
		D:--skip) wl_skip=$2 ;;
		D:--agings) wl_agings=$2 ;;
		*) workload_note "workload $which has no option $1; see --help"; exit 2 ;;
		esac
		shift 2
	done

	here=$(dirname "$(readlink -f "${BASH_SOURCE[0]}")")
	DATA=${DATA:-/data} CGROUP_ROOT=${CGROUP_ROOT:-/sys/fs/cgroup}
	[ -n "${WORKLOAD_BIN-}" ] || { [ -d /mglru/bin ] && WORKLOAD_BIN=/mglru/bin || WORKLOAD_BIN=$here/bin; }
	[ -x "$WORKLOAD_BIN/run-in-cgroup" ] ||
		workload_die "no programs in $WORKLOAD_BIN; build them (make -C $here OUT=DIR) and set WORKLOAD_BIN=DIR"
	trap workload_cleanup EXIT
	# A workload that died must be reported, not take this shell with it.
	trap : PIPE
	trap 'exit 130' INT
	trap 'exit 143' TERM HUP
	workload_cgroup
	workload_readahead
	workload_damon
	lru_gen=$(cat /sys/kernel/mm/lru_gen/enabled 2>/dev/null) || lru_gen=none
	[[ $lru_gen = *[13579bdf] ]] || workload_note "the multi-gen LRU is off (lru_gen/enabled: $lru_gen)"
	wl_line="workload=$which kernel=$(uname -r) lru_gen=$lru_gen limit=$wl_limit"
	[ -z "$wl_setup" ] || workload_command "$wl_setup"
	case $which in
	A) workload_a ;;
	B) workload_b ;;
	C) workload_c ;;
	D) workload_d ;;
	esac
	exit
}

workload_run() (
	workload_main "$@"
)

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	workload_main "$@"
fi
