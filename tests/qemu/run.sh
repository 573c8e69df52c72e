#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# run.sh --series SERIES [options] TEST...: boot one guest with that kernel and
# run the tests in it. A TEST is a path relative to tests/, with arguments if
# quoted as one word: 'selftests/foo.sh --fast'.
#   --series S         6.12, 6.18, 7.2, 7.3, ...; "custom" takes KERNEL= and HEADERS=
#   --icount           one CPU whose time counts instructions
#   --cpus N           2 by default
#   --mem MB           1536 by default
#   --numa             two nodes, each with half of the memory and of the CPUs
#   --data MB          size of the file system at /data, 1536 by default
#   --cgroup v1|v2     v2 by default
#   --timeout S        for the whole guest, wall clock; 600 by default
#   --test-timeout S   for each test, guest time; 300 by default
#   --append ARGS      more kernel arguments
#   --expect-taint N   taint bits that must be set beside the module's own 12288
#   --expect-log RE    a kernel log line that must appear and is no failure; may be repeated
#   --env K=V          for the tests; may be repeated
#   --out DIR          where the results go; build/results/... by default
#   --modules DIR      build the modules in DIR as well; may be repeated
#   --tests DIR        the tree of tests, instead of tests/
#   --no-module        without mglru_policy.ko and without workloads
# Exit status: 0 passed, 1 failed, 4 skipped (the reason is printed).

set -euo pipefail
# shellcheck source=tests/qemu/setup.sh
. "$(dirname "$0")/setup.sh"
# shellcheck source=tests/qemu/guest.sh
. "$QEMU_DIR/guest.sh"

SERIES='' ICOUNT=0 CPUS='' MEM=1536 DATA_MB=1536 CGROUP=v2 TIMEOUT=600 TEST_TIMEOUT=300
APPEND='' EXPECT_TAINT=0 EXPECT_LOG=() ENVS=() OUT='' MODULE_DIRS=() TESTS_DIR=$TOP/tests MODULE=1 NUMA=0

number() { [[ $2 =~ ^[0-9]+$ ]] || die "$1 wants a number, not \"$2\""; }

while [ $# != 0 ]; do
	case $1 in
	-h|--help) sed -n '4,25s/^# \?//p' "$0"; exit 0 ;;
	--icount) ICOUNT=1; shift; continue ;;
	--no-module) MODULE=0; shift; continue ;;
	--numa) NUMA=1; shift; continue ;;
	--*) [ $# -ge 2 ] || die "$1 wants a value" ;;
	*) break ;;
	esac
	case $1 in
	--series) SERIES=$2 ;;
	--cpus) number "$@"; CPUS=$2 ;;
	--mem) number "$@"; MEM=$2 ;;
	--data) number "$@"; DATA_MB=$2 ;;
	--cgroup) CGROUP=$2 ;;
	--timeout) number "$@"; TIMEOUT=$2 ;;
	--test-timeout) number "$@"; TEST_TIMEOUT=$2 ;;
	--append) APPEND+=" $2" ;;
	--expect-taint) number "$@"; EXPECT_TAINT=$2 ;;
	--expect-log) EXPECT_LOG+=("$2") ;;
	--env) ENVS+=("$2") ;;
	--out) OUT=$2 ;;
	--modules) MODULE_DIRS+=("$2") ;;
	--tests) TESTS_DIR=$2 ;;
	*) die "unknown option $1; see $0 --help" ;;
	esac
	shift 2
done
[ -n "$SERIES" ] || [ -z "${KERNEL:-}" ] || SERIES=custom
[ -n "$SERIES" ] || die "--series is missing (6.12, 6.18, 7.2, 7.3, or custom with KERNEL= and HEADERS=)"
[ $# != 0 ] || die "no tests given; see $0 --help"
case $CGROUP in v1|v2) ;; *) die "--cgroup wants v1 or v2, not \"$CGROUP\"" ;; esac
if [ "$ICOUNT" = 1 ]; then
	[ "${CPUS:-1}" = 1 ] || die "--icount has one CPU only"
	CPUS=1
fi
CPUS=${CPUS:-2}
if [ "$NUMA" = 1 ] && ((CPUS < 2 || CPUS % 2)); then
	die "--numa shares the CPUs between two nodes: $CPUS do not divide"
fi
for t in "$@"; do
	[ -x "$TESTS_DIR/${t%% *}" ] || die "there is no executable test $TESTS_DIR/${t%% *}"
done

setup "$SERIES"
if [ -n "$SKIP_REASON" ]; then
	echo "KTAP version 1"
	echo "1..0 # SKIP $SERIES: $SKIP_REASON"
	exit 4
fi
RELEASE=$(cat "$KERNEL_CACHE/release")

if [ "$MODULE" = 1 ]; then
	"$QEMU_DIR/build.sh" "$SERIES"
	build_workloads
fi

if [ -z "$OUT" ]; then
	t=${1%% *}
	mkdir -p "$BUILD/results"
	OUT=$(mktemp -d "$BUILD/results/$SERIES-$(basename "${t%.sh}")-XXXXXX")
	chmod 755 "$OUT"
fi
mkdir -p "$OUT"
OUT=$(cd "$OUT" && pwd)
rm -rf "$OUT"/{results.raw,console.log,qemu.log,run.conf,list,expect-log,marks,dmesg,verdict} "$OUT"/*.ktap
WORK=$(mktemp -d "$CACHE/tmp.run.XXXXXX")
QEMU_PID=''
# shellcheck disable=SC2154 # rc is set in the trap
trap 'rc=$?; [ -z "$QEMU_PID" ] || kill -9 "$QEMU_PID" 2>/dev/null; rm -rf "$WORK"; exit $rc' EXIT
trap 'exit 1' INT TERM HUP

printf '%s\n' "$@" >"$OUT/list"
: >"$OUT/expect-log"
((${#EXPECT_LOG[@]} == 0)) || printf '%s\n' "${EXPECT_LOG[@]}" >"$OUT/expect-log"

extra_modules
step "test disk" test_disk
ACCEL=$(choose_accel)
NONCE=$(od -An -N8 -tx8 /dev/urandom | tr -d ' ')
t0=$(now_ms)
run_guest
{
	printf 'NONCE=%q\nSERIES=%q\nRELEASE=%q\nENDED=%q\nSECONDS_TAKEN=%q\n' "$NONCE" "$SERIES" "$RELEASE" \
		"$ENDED" "$(t=$(since "$t0"); echo "${t% s}")"
	printf 'TIMEOUT=%q\nEXPECT_TAINT=%q\nACCEL=%q\n' "$TIMEOUT" "$EXPECT_TAINT" \
		"$ACCEL$([ "$ICOUNT" = 0 ] || echo " icount")"
} >"$OUT/run.conf"
rc=0
"$QEMU_DIR/verdict.sh" "$OUT" | tee "$OUT/verdict" || rc=$?
exit $rc
