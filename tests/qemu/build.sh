#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# build.sh SERIES [make args]: build mglru_policy.ko and the test modules for
# the kernel of SERIES ("custom": KERNEL= HEADERS=). Without make args the
# result is build/SERIES/mglru_policy.ko and build/SERIES/modules/*.ko, and an
# unchanged tree is not built again. With make args (W=1, C=1) it is a check:
# everything is compiled from scratch in build/SERIES/check, and a warning about
# the project's own files fails it.
# Exit status: 0 built, 1 failed, 4 skipped with the reason printed: the series
# is not available, or (C=1) sparse does not understand that kernel's headers.

set -euo pipefail
# shellcheck source=tests/qemu/setup.sh
. "$(dirname "$0")/setup.sh"

# Sources that go into a module. A copy is built, so that two series can be
# built at once and the tree stays clean.
copy_sources() {
	local dst=$1 part

	rm -rf "$dst"
	mkdir -p "$dst"
	for part in Kbuild module include tests/modules; do
		[ -e "$TOP/$part" ] || continue
		mkdir -p "$dst/$(dirname "$part")"
		cp -a "$TOP/$part" "$dst/$part"
	done
	find "$dst" \( -name '*.o' -o -name '*.ko' -o -name '*.mod' -o -name '*.mod.c' -o \
		-name '.*.cmd' -o -name 'Module.symvers' -o -name 'modules.order' \) -delete
}

# kbuild SRC SUBDIR [make args]: compile the external module in SRC/SUBDIR
kbuild() {
	local src=$1 sub=$2 binds
	shift 2

	mapfile -t binds < <(header_binds "$KERNEL_CACHE")
	run_in_root "$ROOT" src="$src" "${binds[@]}" -- \
		make -j"$(nproc)" -C "$(cat "$KERNEL_CACHE/headers")" M="/mnt/src/$sub" "$@" modules
}

# The compiler's warnings about files under SRC; headers of the kernel are not
# the project's to mend.
own_warnings() {
	sed 's,/mnt/src/\(\./\)\?,,g' "$1" |
		grep -E '^[^ /][^: ]*:[0-9]+(:[0-9]+)?: (warning|error):|^WARNING: modpost' || :
}

build() {
	local out=$1 stamp=$2 src=$1/src log=$1/build.log rc=0 modules=()
	shift 2

	mkdir -p "$out"
	if [ $# = 0 ] && [ "$(cat "$out/stamp" 2>/dev/null)" = "$stamp" ]; then
		say "modules for $SERIES: unchanged"
		return 0
	fi
	rm -rf "$out/stamp" "$out/modules" "$out/mglru_policy.ko"
	copy_sources "$src"
	{
		step "module for $SERIES${*:+ ($*)}" kbuild_logged "$log" "$src" . "$@" &&
		if [ -e "$src/tests/modules/Kbuild" ]; then
			step "test modules for $SERIES${*:+ ($*)}" kbuild_logged "$log.tests" \
				"$src" tests/modules KBUILD_EXTRA_SYMBOLS=/mnt/src/Module.symvers "$@"
		fi
	} || rc=$?
	[ ! -e "$log.tests" ] || { cat "$log.tests" >>"$log"; rm "$log.tests"; }
	own_warnings "$log"
	[ "$rc" = 0 ] || die "the module does not build for $SERIES ($(cat "$KERNEL_CACHE/release")); the whole output is in $log"
	if [ $# != 0 ] && [ -n "$(own_warnings "$log")" ]; then
		die "the check build of $SERIES ($*) has the warnings above; the whole output is in $log"
	fi
	# Kbuild only warns, and compiles without the checker.
	if grep -q 'specified, but .* is not available or not up to date' "$log"; then
		say "SKIP $SERIES $*: this sparse does not understand the headers of $(cat "$KERNEL_CACHE/release") (the rest of the check passed)"
		return 4
	fi
	[ -s "$src/mglru_policy.ko" ] || die "the build for $SERIES made no mglru_policy.ko; its output is in $log"
	mkdir -p "$out/modules"
	mapfile -t modules < <(find "$src/tests" -name '*.ko' 2>/dev/null)
	cp "$src/mglru_policy.ko" "$out/"
	((${#modules[@]} == 0)) || cp "${modules[@]}" "$out/modules/"
	[ $# != 0 ] || echo "$stamp" >"$out/stamp"
}

kbuild_logged() {
	local log=$1
	shift
	kbuild "$@" >"$log" 2>&1 || { tail -n 40 "$log"; return 1; }
}

stamp() {
	(cd "$TOP" && find Kbuild module include tests/modules -type f 2>/dev/null | sort | xargs sha256sum
		echo "$KERNEL_CACHE $ROOT"; cat "$QEMU_DIR/build.sh") | digest
}

case ${1:-} in
''|-h|--help) sed -n '4,12s/^# //p' "$0"; exit 0 ;;
esac
SERIES=$1
shift
[ -e "$TOP/Kbuild" ] || die "$TOP/Kbuild is missing: there is no module to build"
setup "$SERIES"
if [ -n "$SKIP_REASON" ]; then
	say "SKIP $SERIES: $SKIP_REASON"
	exit 4
fi
out=$BUILD/$SERIES
[ $# = 0 ] || out=$out/check
with_lock "$BUILD/$SERIES/.lock" build "$out" "$(stamp)" "$@"
