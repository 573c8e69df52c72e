# SPDX-License-Identifier: GPL-2.0-only
# shellcheck shell=bash
# shellcheck disable=SC2154,SC2153 # the variables are run.sh's options
#
# The parts of run.sh: workload programs, the disk with the tests, the
# accelerator, and QEMU itself. Sourced by run.sh.

# The static workload programs, the same for every kernel.
build_workloads() {
	[ -e "$TOP/tests/workloads/Makefile" ] || return 0
	with_lock "$BUILD/workloads/.lock" build_workloads_locked
}

build_workloads_locked() {
	local dir=$BUILD/workloads stamp part

	stamp=$( (cd "$TOP" && find tests/workloads include -type f 2>/dev/null | sort | xargs sha256sum
		echo "$ROOT") | digest)
	[ "$(cat "$dir/stamp" 2>/dev/null)" != "$stamp" ] || return 0
	rm -rf "${dir:?}"/{stamp,src,bin}
	mkdir -p "$dir/src/tests" "$dir/bin"
	for part in include tests/workloads; do
		[ ! -e "$TOP/$part" ] || cp -a "$TOP/$part" "$dir/src/$part"
	done
	step "workload programs" run_in_root "$ROOT" src="$dir/src" bin="$dir/bin" -- \
		make -C /mnt/src/tests/workloads OUT=/mnt/bin ||
		die "the workload programs do not build (see above)"
	[ -n "$(ls -A "$dir/bin")" ] || die "tests/workloads/Makefile put nothing into OUT="
	echo "$stamp" >"$dir/stamp"
}

# Modules of --modules directories, built in the run's own place.
extra_modules() {
	local dir n=0 binds

	mapfile -t binds < <(header_binds "$KERNEL_CACHE")
	for dir in ${MODULE_DIRS[@]+"${MODULE_DIRS[@]}"}; do
		n=$((n + 1))
		mkdir -p "$WORK/extra"
		cp -a "$dir" "$WORK/extra/$n"
		step "modules in $dir" run_in_root "$ROOT" src="$WORK/extra/$n" "${binds[@]}" -- \
			make -C "$(cat "$KERNEL_CACHE/headers")" M=/mnt/src modules ||
			die "the modules in $dir do not build (see above)"
	done
}

# The project's part of the guest, on a disk of its own, so that a changed test
# costs no new root image; and the empty file system for workload files.
test_disk() {
	local tree=$WORK/tree kv

	mkdir -p "$tree"/{tests,modules,bin}
	cp -a "$TESTS_DIR/." "$tree/tests/"
	rm -rf "$tree/tests/qemu"
	[ ! -d "$TOP/tools" ] || cp -a "$TOP/tools" "$tree/tools"
	[ ! -d "$TOP/sysfs-doc" ] || cp -a "$TOP/sysfs-doc" "$tree/sysfs-doc"
	if [ "$MODULE" = 1 ]; then
		cp "$BUILD/$SERIES/mglru_policy.ko" "$tree/" || return
		cp "$BUILD/$SERIES/modules/"*.ko "$tree/modules/" 2>/dev/null || :
		cp -a "$BUILD/workloads/bin/." "$tree/bin/" 2>/dev/null || :
	fi
	find "$WORK/extra" -name '*.ko' -exec cp {} "$tree/modules/" \; 2>/dev/null || :
	cp "$QEMU_DIR/init" "$tree/init"
	cp "$OUT/list" "$tree/list"
	{
		printf 'export %s=%q\n' SERIES "$SERIES" ICOUNT "$ICOUNT"
		printf 'TEST_TIMEOUT=%q\n' "$TEST_TIMEOUT"
		for kv in ${ENVS[@]+"${ENVS[@]}"}; do
			printf 'export %s=%q\n' "${kv%%=*}" "${kv#*=}"
		done
	} >"$tree/env"
	make_image "$ROOT" "$tree" "$WORK/tests.img" 16 &&
		truncate -s "${DATA_MB}M" "$WORK/data.img" &&
		run_in_root "$ROOT" w="$WORK" -- mke2fs -q -F -t ext4 -m 0 \
			-E assume_storage_prezeroed=1 /mnt/w/data.img
}

# qemu_accel_args ACCEL: sets QEMU_ACCEL
qemu_accel_args() {
	local smp=$CPUS

	# A node is a socket: the kernel warns of a cache that two nodes share.
	[ "$NUMA" = 0 ] || smp+=,sockets=2
	case $1 in
	kvm) QEMU_ACCEL=(-accel kvm -cpu host -smp "$smp") ;;
	tcg)
		if [ "$ICOUNT" = 1 ]; then
			QEMU_ACCEL=(-accel "tcg,thread=single" -cpu max -smp 1 -icount "shift=2,sleep=off")
		else
			QEMU_ACCEL=(-accel "tcg,thread=multi" -cpu max -smp "$smp")
		fi
		;;
	*) die "ACCEL=$1 is neither kvm nor tcg" ;;
	esac
}

# qemu_memory_args: sets QEMU_MEM
qemu_memory_args() {
	local node half=$((MEM / 2)) each=$((CPUS / 2))

	QEMU_MEM=(-m "$MEM")
	[ "$NUMA" = 1 ] || return 0
	QEMU_MEM=(-m "$((2 * half))")
	for node in 0 1; do
		QEMU_MEM+=(-object "memory-backend-ram,id=node$node,size=${half}M"
			-numa "node,nodeid=$node,memdev=node$node,cpus=$((node * each))-$((node * each + each - 1))")
	done
}

# qemu OUTDIR ACCEL APPEND ARGS...: exec QEMU in the root, its console and
# its results (the second serial line) going to files in OUTDIR
qemu() {
	local out=$1 accel=$2 append=$3 binds initrd=()
	shift 3

	qemu_accel_args "$accel"
	qemu_memory_args
	binds=(out="$out" work="$WORK" guest.img="$GUEST_IMG" kernel="$KERNEL_CACHE")
	[ "$accel" != kvm ] || binds+=(/dev/kvm=/dev/kvm)
	[ ! -e "$KERNEL_CACHE/initrd" ] || initrd=(-initrd /mnt/kernel/initrd)
	in_root "$ROOT" "${binds[@]}" -- env TMPDIR=/mnt/work qemu-system-x86_64 \
		"${QEMU_ACCEL[@]}" "${QEMU_MEM[@]}" -nodefaults -display none -no-reboot \
		-serial file:/mnt/out/console.log -serial file:/mnt/out/results.raw \
		-drive file=/mnt/guest.img,format=raw,if=none,id=d0,snapshot=on \
		-device nvme,drive=d0,serial=mglru-root \
		-kernel /mnt/kernel/vmlinuz ${initrd[@]+"${initrd[@]}"} \
		-append "console=ttyS0 loglevel=5 log_buf_len=4M panic=-1 oops=panic rootwait rw root=PARTUUID=$GUEST_SIGNATURE-01 init=/init $append" \
		"$@"
}

# choose_accel: prints kvm or tcg. /dev/kvm may be there and guests die in it,
# so KVM counts only after a kernel has come up in it; asked once a host boot.
choose_accel() {
	local memo nonce pid t0

	if [ -n "${ACCEL:-}" ]; then echo "$ACCEL"; return; fi
	if [ "$ICOUNT" = 1 ] || [ ! -c /dev/kvm ]; then echo tcg; return; fi
	memo=$CACHE/kvm-$(cat /proc/sys/kernel/random/boot_id)-$RELEASE
	if [ ! -s "$memo" ]; then
		warn "trying KVM (at most 20 s)"
		nonce=probe$RANDOM$RANDOM
		mkdir -p "$WORK/probe"
		: >"$WORK/probe/results.raw"
		(qemu "$WORK/probe" kvm "mglru.probe mglru.nonce=$nonce") \
			>"$WORK/probe/qemu.log" 2>&1 </dev/null &
		pid=$!
		t0=$(now_ms)
		while kill -0 "$pid" 2>/dev/null && (($(now_ms) - t0 < 20000)) &&
			! grep -q 'KVM internal error' "$WORK/probe/qemu.log"; do
			sleep 0.2
		done
		kill -9 "$pid" 2>/dev/null || :
		wait "$pid" 2>/dev/null || :
		if grep -q "^@$nonce probe-ok" "$WORK/probe/results.raw"; then
			echo kvm >"$memo.$$"
		else
			echo tcg >"$memo.$$"
		fi
		mv "$memo.$$" "$memo"
		warn "KVM: $([ "$(cat "$memo")" = kvm ] && echo works || echo 'does not run this kernel here, using emulation (tcg)')"
	fi
	cat "$memo"
}

# run_guest: boots the guest and waits for its end; sets ENDED to "exit STATUS"
# or "timeout".
run_guest() {
	local append t0 beat last args

	append="mglru.nonce=$NONCE"
	args=(-drive "file=/mnt/work/tests.img,format=raw,if=none,id=d1" -device "nvme,drive=d1,serial=mglru-tests"
		-drive "file=/mnt/work/data.img,format=raw,if=none,id=d2" -device "nvme,drive=d2,serial=mglru-data")
	if [ -e "$KERNEL_CACHE/modules.img" ]; then
		append+=" mglru.modules"
		args+=(-drive "file=/mnt/kernel/modules.img,format=raw,if=none,id=d3,snapshot=on"
			-device "nvme,drive=d3,serial=mglru-kmod")
	fi
	[ "$CGROUP" != v1 ] || append+=" cgroup=v1"
	append+=$APPEND
	: >"$OUT/results.raw"
	: >"$OUT/console.log"
	say "guest $SERIES ($RELEASE, $ACCEL, $CPUS CPUs, $MEM MB): starts, at most $TIMEOUT s"
	t0=$(now_ms)
	beat=$HEARTBEAT
	(qemu "$OUT" "$ACCEL" "$append" "${args[@]}") >"$OUT/qemu.log" 2>&1 </dev/null &
	QEMU_PID=$!
	ENDED=
	while kill -0 "$QEMU_PID" 2>/dev/null; do
		if (($(now_ms) - t0 >= TIMEOUT * 1000)); then
			ENDED=timeout
			kill -9 "$QEMU_PID" 2>/dev/null || :
			break
		fi
		if (($(now_ms) - t0 >= beat * 1000)); then
			last=$(tail -c 400 "$OUT/results.raw" | tr -d '\r\000' | grep -a . | tail -n 1 | cut -c1-100 || :)
			say "guest $SERIES: $(since "$t0"), last: ${last:-nothing yet}"
			beat=$((beat + HEARTBEAT))
		fi
		sleep 0.2
	done
	local rc=0
	wait "$QEMU_PID" 2>/dev/null || rc=$?
	QEMU_PID=
	[ -n "$ENDED" ] || ENDED="exit $rc"
}
