#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# check.sh: what can be found without booting anything. Builds with warnings
# (W=1) and sparse (C=1) for every series, checkpatch, shellcheck, licence tags,
# sizes, modinfo, dkms, make install, a disassembly of the module. KTAP.
# check.sh [RE]: only the checks whose name matches.
# SERIES="7.2 ..." in the environment: only these series.

set -uo pipefail
# shellcheck source=tests/qemu/setup.sh
. "$(dirname "$0")/qemu/setup.sh"
# shellcheck source=tests/checkpatch.sh
. "$TOP/tests/checkpatch.sh"
cd "$TOP" || exit 1

ONLY=${1:-}
MAX_LINES=800
SERIES=${SERIES:-$ALL_SERIES}
WORK=$(mktemp -d "${TMPDIR:-/tmp}/mglru-check.XXXXXX")
trap 'rm -rf "$WORK"' EXIT
trap 'exit 1' INT TERM HUP
n=0 failed=0

# check TEXT FUNCTION...: one result. Status 4 is a skip, whose reason is the
# last line that says SKIP.
check() {
	local text=$1 rc=0 t0 beat=$HEARTBEAT log=$WORK/log pid
	shift

	[[ $text =~ $ONLY ]] || return 0
	n=$((n + 1))
	t0=$(now_ms)
	"$@" >"$log" 2>&1 &
	pid=$!
	while kill -0 "$pid" 2>/dev/null; do
		if (($(now_ms) - t0 >= beat * 1000)); then
			say "$text: $(since "$t0") so far"
			beat=$((beat + HEARTBEAT))
		fi
		sleep 0.1
	done
	wait "$pid" || rc=$?
	case $rc in
	0) echo "ok $n $text # $(since "$t0")" ;;
	4) echo "ok $n $text # SKIP $(sed -n 's/.*SKIP //p' "$log" | tail -n 1)" ;;
	*)
		failed=1
		echo "not ok $n $text"
		tail -n 60 "$log" | sed 's/^/#   /'
		;;
	esac
}

# Every file of the project: what git would add, without needing git.
project_files() {
	find . \( -path ./.git -o -path ./build -o -name '.tmp_*' \) -prune -o -type f \
		! -name '*.o' ! -name '*.ko' ! -name '*.mod' ! -name '*.mod.c' ! -name '.*.cmd' \
		! -name '.*.d' ! -name Module.symvers ! -name modules.order \
		! -name '.checkpatch-camelcase*' -printf '%P\n' | sort
}

c_files() { project_files | grep -E '\.[ch]$'; }

scripts() {
	local f

	project_files | while IFS= read -r f; do
		case $f in
		*.sh|dkms.conf|tests/qemu/init|tests/qemu/stage1) echo "$f" ;;
		*) head -n 1 "$f" | tr -d '\0' | grep -qE '^#! ?/.*\b(ba)?sh\b' && echo "$f" ;;
		esac
	done
}

# not_accepted FILE: checkpatch's lines less those in checkpatch.accept; what is
# left is wrong, as is an exception that nothing needs
not_accepted() {
	awk '
	FNR == NR {
		if ($1 !~ /^#/) why[$1 ":" $2] = 1
		next
	}
	{
		file = $1
		sub(/:.*/, "", file)
		type = $2
		sub(/^[A-Z]+:/, "", type)
		sub(/:$/, "", type)
		key = file ":" type
		if (key in why) used[key] = 1
		else print
	}
	END {
		for (key in why) if (!(key in used))
			print "tests/checkpatch.accept: checkpatch does not say " key " any more; remove the line"
	}' tests/checkpatch.accept "$1"
}

checkpatch() {
	local files out=$WORK/checkpatch left

	checkpatch_get || return
	mapfile -t files < <(c_files)
	mkdir -p "$WORK/cwd"
	# checkpatch writes into its working directory. No word on a sound file.
	# shellcheck disable=SC2016 # expands in the root
	run_in_root "$ROOT" top="$TOP" cp="$CHECKPATCH_DIR" cwd="$WORK/cwd" -- bash -c '
		cd /mnt/cwd || exit 2
		for f in "$@"; do
			perl /mnt/cp/checkpatch.pl --no-tree --strict --terse --show-types --no-summary \
				-f "/mnt/top/$f"
			[ $? -le 1 ] || exit 2
		done' checkpatch "${files[@]}" >"$out" 2>&1 ||
		{ echo "checkpatch did not run:"; cat "$out"; return 1; }
	sed -i 's,^/mnt/top/,,' "$out"
	left=$(not_accepted "$out")
	[ -z "$left" ] || { echo "$left"; return 1; }
}

run_shellcheck() {
	local files

	mapfile -t files < <(scripts)
	((${#files[@]} > 5)) || { echo "found only ${#files[@]} scripts"; return 1; }
	shellcheck -f gcc "${files[@]}"
}

licence_tags() {
	local f bad=0

	while IFS= read -r f; do
		case $f in COPYING|*.png|*.svg) continue ;; esac
		head -n 3 "$f" | grep -q 'SPDX-License-Identifier: GPL-2.0-only' ||
			{ echo "$f: no SPDX-License-Identifier: GPL-2.0-only in its first three lines"; bad=1; }
	done < <(project_files)
	return "$bad"
}

# The README's links lead somewhere, and it stays short.
readme() {
	local link bad=0 lines

	lines=$(wc -l <README.md)
	((lines < 300)) || { echo "README.md has $lines lines; 299 are allowed"; bad=1; }
	while IFS= read -r link; do
		[ -e "$link" ] || { echo "README.md: the link to $link leads nowhere"; bad=1; }
	done < <(grep -oE '\]\([^):]+\)' README.md | tr -d '()]')
	while IFS= read -r link; do
		make -n "$link" >/dev/null 2>&1 || { echo "README.md: there is no \"make $link\""; bad=1; }
	done < <(sed -nE 's/^[^#]*`make ([a-z]+).*/\1/p' README.md | sort -u)
	return "$bad"
}

# A test that no line of the plan names would never run.
planned() {
	local f bad=0

	for f in tests/selftests/*.sh; do
		# disasm.sh is run here, demo.sh by make demo.
		case $f in */disasm.sh | */demo.sh) continue ;; esac
		[ -x "$f" ] || continue
		cat tests/plan tests/plan-debug | grep -v '^#' | grep -qF "${f#tests/}" ||
			{ echo "$f: not in tests/plan or tests/plan-debug"; bad=1; }
	done
	return "$bad"
}

file_sizes() {
	local f lines bad=0

	while IFS= read -r f; do
		lines=$(wc -l <"$f")
		((lines <= MAX_LINES)) || { echo "$f: $lines lines, at most $MAX_LINES are allowed"; bad=1; }
	done < <(c_files)
	return "$bad"
}

# modinfo_of FIELD: of the module of the first series
modinfo_of() {
	run_in_root "$ROOT" ko="$BUILD/$FIRST" -- modinfo -F "$1" /mnt/ko/mglru_policy.ko
}

complete_modinfo() {
	local field value parm bad=0 parms

	for field in description author license version vermagic; do
		value=$(modinfo_of "$field")
		echo "$field: $value"
		[ -n "$value" ] || { echo "modinfo has no $field"; bad=1; }
	done
	[ "$(modinfo_of license)" = GPL ] || { echo 'the licence is not "GPL"'; bad=1; }
	parms=$(modinfo_of parmtype)
	[ -n "$parms" ] || { echo "modinfo names no parameter"; bad=1; }
	while IFS=: read -r parm _; do
		modinfo_of parm | grep -qE "^$parm:[^ ].{10}" || { echo "parameter $parm has no description"; bad=1; }
	done <<<"$parms"
	return "$bad"
}

# dkms.conf as dkms reads it: by sourcing it.
sane_dkms_conf() (
	local bad=0 k s config version
	wrong() { echo "dkms.conf: $*"; bad=1; }

	# shellcheck disable=SC2034 # dkms.conf uses them
	kernel_source_dir=/kernel dkms_tree=/dkms
	unset PACKAGE_NAME PACKAGE_VERSION BUILT_MODULE_NAME DEST_MODULE_LOCATION AUTOINSTALL MAKE CLEAN
	# shellcheck source=dkms.conf
	. ./dkms.conf || { wrong "cannot be read"; return 1; }
	[ "$PACKAGE_NAME" = mglru_policy ] || wrong "PACKAGE_NAME is '$PACKAGE_NAME'"
	version=$(modinfo_of version)
	[ "$PACKAGE_VERSION" = "$version" ] ||
		wrong "PACKAGE_VERSION is '$PACKAGE_VERSION', MODULE_VERSION is '$version'; make them equal"
	grep -q "^obj-m += ${BUILT_MODULE_NAME[0]}\.o" Kbuild ||
		wrong "BUILT_MODULE_NAME '${BUILT_MODULE_NAME[0]}' is not what Kbuild builds"
	[ "${DEST_MODULE_LOCATION[0]}" = /updates/dkms ] || wrong "DEST_MODULE_LOCATION is '${DEST_MODULE_LOCATION[0]}'"
	[ "$AUTOINSTALL" = yes ] || wrong "AUTOINSTALL is '$AUTOINSTALL'"
	[[ ${MAKE[0]} = "make -C /kernel M=/dkms/mglru_policy/$version/build modules" ]] || wrong "MAKE is '${MAKE[0]}'"
	[[ ${CLEAN:-} = *\ clean ]] || wrong "CLEAN is '${CLEAN:-}'"
	[ "$BUILD_EXCLUSIVE_ARCH" = x86_64 ] || wrong "BUILD_EXCLUSIVE_ARCH is '$BUILD_EXCLUSIVE_ARCH'"
	for k in 6.12.0-1-amd64 6.18.15+deb13-amd64 6.20.1 7.0.0 7.3.4+deb13-cloud-amd64 10.0.1; do
		[[ $k =~ $BUILD_EXCLUSIVE_KERNEL ]] || wrong "BUILD_EXCLUSIVE_KERNEL refuses $k"
	done
	for k in 5.10.0-40-amd64 6.1.0-35-amd64 6.2.0 6.11.11 4.19.0; do
		[[ ! $k =~ $BUILD_EXCLUSIVE_KERNEL ]] || wrong "BUILD_EXCLUSIVE_KERNEL lets $k pass"
	done
	for s in $BUILT; do
		config=$(series_config "$s")
		for k in $BUILD_EXCLUSIVE_CONFIG; do
			grep -qx "$k=y" "$config" || wrong "BUILD_EXCLUSIVE_CONFIG has $k, which the kernel of $s lacks"
		done
	done
	return "$bad"
)

series_config() {
	local dir

	dir=$(cat "$CACHE/state/$1")
	echo "$dir/hdr$(cat "$dir/headers")/.config"
}

# in_source_root DIR CMD...: CMD in the root, which sees the headers of $FIRST,
# a copy of the tree that would be released at /mnt/w/src, and DIR at /mnt/w
in_source_root() {
	local dir=$1 src=$1/src/mglru_policy-$VERSION binds
	shift

	mkdir -p "$src" "$dir"/{dkms,inst}
	cp -a Kbuild Makefile dkms.conf include module "$src/"
	find "$src" -name '*.o' -delete
	mapfile -t binds < <(header_binds "$KERNEL_CACHE")
	run_in_root "$ROOT" w="$dir" "${binds[@]}" -- "$@"
}

real_dkms() {
	local dir=$WORK/dkms common rc=0

	mkdir -p "$dir"
	index_once cached
	apt_fetch "$dir" dkms || { echo "the package dkms cannot be fetched"; return 1; }
	dpkg-deb -x "$dir"/dkms_*.deb "$dir/package" || return
	common=(-m mglru_policy -v "$VERSION" -a x86_64 --sourcetree /mnt/w/src --dkmstree /mnt/w/dkms
		--installtree /mnt/w/inst --kernelsourcedir "$(cat "$KERNEL_CACHE/headers")")
	in_source_root "$dir" bash /mnt/w/package/usr/sbin/dkms build -k "$RELEASE" "${common[@]}" || return
	[ -n "$(find "$dir/dkms" -name 'mglru_policy.ko*' -path "*$RELEASE*")" ] ||
		{ echo "dkms says it built the module, but there is none"; return 1; }
	in_source_root "$dir" bash /mnt/w/package/usr/sbin/dkms build -k 6.11.0-old "${common[@]}" || rc=$?
	[ "$rc" = 77 ] || { echo "dkms does not refuse kernel 6.11 (status $rc, wanted 77)"; return 1; }
}

make_install() {
	local dir=$WORK/install left

	# shellcheck disable=SC2016 # expands in the root
	in_source_root "$dir" bash -ec 'cd /mnt/w/src/mglru_policy-*
		make KDIR="$1" install INSTALL_MOD_PATH=/mnt/w/inst
		make KDIR="$1" clean
		! make KDIR=/nowhere 2>/mnt/w/error' make "$(cat "$KERNEL_CACHE/headers")" || return
	grep -q '^[^:]*mglru_policy\.ko[.a-z]*:' "$dir/inst/lib/modules/$RELEASE/modules.dep" ||
		{ echo "the installed module is not in modules.dep"; return 1; }
	grep -q 'error: /nowhere holds no kernel headers' "$dir/error" ||
		{ echo "make without headers does not say so:"; cat "$dir/error"; return 1; }
	left=$(cd "$dir/src/mglru_policy-$VERSION" && find . -type f | sed 's,^\./,,' | grep -vxFf <(project_files))
	[ -z "$left" ] || { echo "make clean leaves: $left"; return 1; }
}

# One build for both, W=1 and C=1. Status 4: the compiler found nothing, and
# sparse could not be used.
warnings() {
	local rc=0

	tests/qemu/build.sh "$1" W=1 C=1 >"$WORK/warnings-$1" 2>&1 || rc=$?
	cat "$WORK/warnings-$1"
	echo "$rc" >"$WORK/status-$1"
	[ "$rc" = 4 ] || return "$rc"
}

sparse() {
	case $(cat "$WORK/status-$1") in
	0) return 0 ;;
	4) grep SKIP "$WORK/warnings-$1"; return 4 ;;
	*) echo "the build with warnings failed, sparse is in it; see above"; return 1 ;;
	esac
}

disassembly() {
	SERIES=$1 tests/selftests/disasm.sh "$BUILD/$1/mglru_policy.ko"
}

no_module() { echo "no series could be built"; return 1; }

echo "KTAP version 1"
need_root
check "licence tags" licence_tags
check "C files of at most $MAX_LINES lines" file_sizes
check "README" readme
check "every selftest is in tests/plan" planned
check "shellcheck" run_shellcheck
BUILT=
for s in $SERIES; do
	check "build for $s" tests/qemu/build.sh "$s"
	if [ ! -e "$BUILD/$s/stamp" ] || [ ! -s "$CACHE/state/$s" ]; then continue; fi
	BUILT+=" $s"
	check "build for $s with warnings (W=1)" warnings "$s"
	check "build for $s with sparse (C=1)" sparse "$s"
	check "disassembly for $s" disassembly "$s"
done
read -r FIRST _ <<<"$BUILT"
if [ -n "$FIRST" ]; then
	setup "$FIRST"
	RELEASE=$(cat "$KERNEL_CACHE/release")
	VERSION=$(modinfo_of version)
	check "checkpatch --strict" checkpatch
	check "modinfo is complete" complete_modinfo
	check "dkms.conf" sane_dkms_conf
	check "dkms builds for $FIRST and refuses 6.11" real_dkms
	check "make install, make clean" make_install
else
	check "checkpatch, modinfo, dkms, make install" no_module
fi
echo "1..$n"
exit "$failed"
