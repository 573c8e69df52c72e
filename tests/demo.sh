#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# make demo: boot stock kernels, load the module, switch the policies of running
# cgroups, and print what changed, as a table and as a picture. The guests count
# instructions, so that sys time means something on any machine.
set -u
TOP=$(cd "$(dirname "$0")/.." && pwd)
OUT=${OUT:-$TOP/build/demo}
SERIES=${SERIES:-7.2 6.18}
started=$SECONDS

mkdir -p "$OUT"
rm -f "$OUT"/*.results "$OUT"/demo.png "$OUT"/table.txt

# shellcheck disable=SC2086 # a list
"$TOP/tests/qemu/prepare.sh" $SERIES >"$OUT/prepare.txt" || {
	cat "$OUT/prepare.txt"
	echo "demo: no kernel could be prepared; see above" >&2
	exit 1
}
cat "$OUT/prepare.txt"

declare -A pid
for s in $SERIES; do
	grep -q "^$s ok " "$OUT/prepare.txt" || continue
	"$TOP/tests/qemu/run.sh" --series "$s" --icount --timeout 900 --test-timeout 800 \
		--data 2048 --out "$OUT/$s" selftests/demo.sh >"$OUT/$s.log" 2>&1 &
	pid[$s]=$!
done

# Show what the guests say, as they say it.
for s in "${!pid[@]}"; do
	tail -n +1 --pid="${pid[$s]}" -f "$OUT/$s.log" | sed -u "s/^/$s: /" &
done
bad=0
for s in "${!pid[@]}"; do
	wait "${pid[$s]}" || { bad=1; echo "demo: the guest with $s failed; see $OUT/$s" >&2; }
done
wait
[ $bad = 0 ] || exit 1

for s in $SERIES; do
	[ -n "${pid[$s]:-}" ] || continue
	sed -n "s/^RESULT /series=$s /p" "$OUT/$s"/01-*.ktap >"$OUT/$s.results"
	[ -s "$OUT/$s.results" ] || { echo "demo: the guest with $s reported nothing" >&2; exit 1; }
done

awk -f "$TOP/tests/demo-table.awk" "$OUT"/*.results | tee "$OUT/table.txt"

awk -f "$TOP/tests/demo-table.awk" -v plot=1 "$OUT"/*.results >"$OUT/plot.dat"
if gnuplot -e "data='$OUT/plot.dat'; picture='$OUT/demo.png'" "$TOP/tests/demo.gnuplot"; then
	echo "Picture: ${OUT#"$PWD"/}/demo.png"
else
	echo "demo: gnuplot could not draw the picture; the table above is complete" >&2
	exit 1
fi
echo "Done in $((SECONDS - started)) s."
