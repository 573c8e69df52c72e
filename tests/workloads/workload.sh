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
for each:
  --limit SIZE    memory.max (A and B: 40M, C: 20M)
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

# Enable the memory controller for the children of every group from the root down to $1's parent.
workload_enable_memory() {
	local dir=$CGROUP_ROOT part
	grep -qw memory "$dir/cgroup.controllers" 2>/dev/null ||
		workload_die "no memory controller in $dir/cgroup.controllers; mount cgroup v2 there (boot with systemd.unified_cgroup_hierarchy=1) or set CGROUP_ROOT"
	local IFS=/
	for part in $1; do
		[ -d "$dir" ] || mkdir "$dir" || workload_die "cannot make the cgroup $dir"
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

# The kernel adds up per-CPU counts when 64 a CPU are pending, and every 2 s what is left. The run is held.
workload_settle() { sleep 2.2; sleep 0.1; }

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
	[ -z "$wl_copy" ] || rm -f "$wl_copy"
}

# Why the program is gone: its exit status, and whether the kernel killed it for the limit.
workload_lost() {
	local status=0 oom
	wait "$wl_pid" || status=$?
	wl_pid=
	oom=$(grep -w oom_kill "$wl_dir/memory.events")
	workload_die "the workload ended at pass ${1:-0} of $wl_total with status $status (${oom:-no memory.events})"
}

# Run "$@" in the cgroup, stopping at every pass boundary, until wl_total passes are done. Measuring begins
# with wl_warm passes finished.
workload_drive() {
	local at=-1 n word first='' prev='' now='' counters

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

workload_b() {
	local text=$WORKLOAD_BIN/text-$wl_text ra=()
	[ -x "$text" ] || workload_die "no program $text: --text takes 8M or 16M"
	workload_data "$wl_pressure"
	wl_copy=$DATA/mglru-text-$wl_text.$$
	case $wl_case in
	ra) ra=(--readahead) ;;
	cp | demand) ;;
	*) workload_die "--case $wl_case: give ra, cp or demand" ;;
	esac
	wl_warm=1 wl_total=$wl_passes
	wl_line+=" case=$wl_case text=$wl_text pressure=$wl_pressure passes=$wl_passes seed=$wl_seed"
	# This copy also brings cp and the original in, charged to the caller.
	workload_drop_caches
	cp "$text" "$wl_copy" || workload_die "cannot copy $text to $DATA"
	if [ "$wl_case" = cp ]; then
		rm "$wl_copy"
		"$WORKLOAD_BIN/run-in-cgroup" "$wl_dir" cp "$text" "$wl_copy" || workload_die "cannot copy $text to $DATA"
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

workload_need() { [ $# -gt 1 ] || { workload_note "$1 needs a value; see --help"; exit 2; }; }

workload_run() (
	local which=${1-} here
	wl_pid='' wl_made='' wl_ra_old='' wl_ra_file='' wl_copy='' wl_at='' wl_dir=''
	wl_limit='' wl_size='' wl_stride=64K wl_warm=4 wl_passes='' wl_exec='' wl_per_pass='' wl_setup=''
	wl_text=8M wl_case=ra wl_pressure=48M wl_seed=1
	wl_readers=40 wl_run=2M wl_warm_pages=10000 wl_pages=20000
	wl_cgroup=mglru-workload-$BASHPID
	declare -A wl_commands=()

	case $which in
	A) : "${wl_limit:=40M}" "${wl_passes:=4}" ;;
	B) : "${wl_limit:=40M}" "${wl_passes:=4}" ;;
	C) : "${wl_limit:=20M}" "${wl_passes:=1}" ;;
	-h | --help) workload_usage; exit 0 ;;
	*) workload_usage >&2; exit 2 ;;
	esac
	shift
	while [ $# -gt 0 ]; do
		case $1 in
		-h | --help) workload_usage; exit 0 ;;
		--per-pass) wl_per_pass=1; shift; continue ;;
		--exec) wl_exec='exec'; shift; continue ;;
		esac
		workload_need "$@"
		case $which:$1 in
		?:--limit) wl_limit=$2 ;;
		?:--cgroup) wl_cgroup=${2#/} ;;
		?:--setup) wl_setup=$2 ;;
		?:--at)
			[[ $2 =~ ^[0-9]+= ]] || { workload_note "--at $2: give N=COMMAND"; exit 2; }
			wl_commands[${2%%=*}]+=${wl_commands[${2%%=*}]:+ && }${2#*=} ;;
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
	workload_cgroup
	workload_readahead
	wl_line="workload=$which lru_gen=$(cat /sys/kernel/mm/lru_gen/enabled 2>/dev/null || echo none) limit=$wl_limit"
	[ -z "$wl_setup" ] || workload_command "$wl_setup"
	case $which in
	A) workload_a ;;
	B) workload_b ;;
	C) workload_c ;;
	esac
)

if [ "${BASH_SOURCE[0]}" = "$0" ]; then
	workload_run "$@"
fi
