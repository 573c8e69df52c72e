#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh CC HEADER TEST.c OUT: can the unit test fail? Breaks HEADER in one
# place after another and compiles the test against it: each time it must fail.
# KTAP.

set -u
CC=$1 HEADER=$2 TEST=$3 OUT=$4

# The expression of sed that breaks, one a line.
MUTANTS='
s/return MGLRU_MIN_GENS - !!(f & MGLRU_F_WORKINGSET)/return MGLRU_MIN_GENS/
s/if (rule == MGLRU_ADD_YOUNGEST)/if (rule == MGLRU_ADD_6_14)/
s/if (f & MGLRU_F_WRITEBACK)/if (f \& MGLRU_F_REFERENCED)/
s/if (rule == MGLRU_ADD_V2)/if (0)/
s/if (f & MGLRU_F_PLAIN_ANON)/if (0)/
s/if (rule == MGLRU_ADD_7_2)/if (0)/
s/(MGLRU_F_WORKINGSET | MGLRU_F_REFERENCED)/MGLRU_F_REFERENCED/
s/return MGLRU_MAX_GENS - !!(f & MGLRU_F_WORKINGSET)/return MGLRU_MAX_GENS/
s/max_seq - age + 1/max_seq - age/
s/return seq > min_seq ? seq : min_seq/return seq/
s/"add_other"/"add_active"/
'

mapfile -t mutants < <(grep . <<<"$MUTANTS")
echo "KTAP version 1"
echo "1..${#mutants[@]}"
bad=0
for i in "${!mutants[@]}"; do
	dir=$OUT/mutant.$i
	mkdir -p "$dir"
	sed "${mutants[i]}" "$HEADER" >"$dir/mglru_policy.h"
	status=ok
	if cmp -s "$HEADER" "$dir/mglru_policy.h"; then
		echo "# changes nothing: ${mutants[i]}"
		status='not ok'
	elif ! $CC -I"$dir" -o "$dir/test" "$TEST"; then
		echo "# does not compile: ${mutants[i]}"
		status='not ok'
	elif "$dir/test" >"$dir/log"; then
		echo "# passes all the same: ${mutants[i]}"
		status='not ok'
	fi
	[ "$status" = ok ] || bad=1
	echo "$status $((i + 1)) fails with ${mutants[i]}"
done
rm -rf "$OUT"/mutant.*
exit $bad
