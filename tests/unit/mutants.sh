#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# mutants.sh CC HEADER TEST.c OUT: can the unit test fail? Breaks HEADER in one
# place after another and compiles the test against it: each time it must fail.
# KTAP.

set -u
CC=$1 HEADER=$2 TEST=$3 OUT=$4

# The expression of sed that breaks, one a line; for each header its own.
# shellcheck disable=SC2034 # by name, below
MUTANTS_mglru_policy='
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
# shellcheck disable=SC2034
MUTANTS_mglru_credit='
s/pages \* 3 \/ 4/pages * 2 \/ 4/
s/while (pages && gens--)/if (pages \&\& gens--)/
s/gens > MGLRU_GEN_MASK \/ 2 ? 0 : gens/gens/
s/(to - from) & MGLRU_GEN_MASK/to - from/
s/if (cap > MGLRU_POOL_MAX)/if (0)/
s/room = left < cap ? cap - left : 0/room = cap - left/
s/room = left < cap ? cap - left : 0/room = pages/
s/return gens ? gens - 1 : 0/return gens/
s/had ? mglru_pool_gen(old) + gens : gen/mglru_pool_gen(old) + gens/
s/return had - left + pages - room/return had - left/
s/return had - left + pages - room/return pages - room/
s/taken = left < most ? left : most/taken = left/
s/if (taken < least)/if (0)/
s/if (!had)/if (0)/
s/if (taken)/if (0)/
s/mglru_pool_gen(old) + gens, left - taken/mglru_pool_gen(old), left - taken/
s/mglru_pool_gen(old) + gens, left - taken/mglru_pool_gen(old) + gens, left/
s/\*expired += had - left/(void)expired/
s/if (pocket->life == life)/if (1)/
s/expired += mglru_pool_pages(pocket->held\[node\]);/;/
s/mglru_word_write(&pocket->held\[node\], 0)/(void)0/
s/pocket->proven = 0;/;/
s/mglru_word_write(&pocket->life, life)/(void)0/
s/pocket->file = file;/;/
s/if (pocket->file == file)/if (0)/
s/if (pocket->file == file)/if (1)/
s/if (room < pages)/if (0)/
s/pocket->proven = proven < room ? proven : room/pocket->proven = proven/
s/pocket->file != buy->file/0/
s/pocket->proven < buy->pages/0/
s/pocket->proven < buy->pages/pocket->proven <= buy->pages/
s/&pocket->held\[buy->node\]/\&pocket->held[0]/
s/mglru_credit_quiet(gen, buy->gen)/0/
s/buy->expired = had - left;/;/
s/!left || mglru_credit_gens(gen, buy->gen)/!left/
s/!left || mglru_credit_gens(gen, buy->gen)/mglru_credit_gens(gen, buy->gen)/
s/if (buy->pages > size)/if (0)/
s/0, size - left,/0, size,/
s/buy->hit = left >= buy->pages/buy->hit = left > buy->pages/
s/left += got/left = got/
s/left -= buy->pages/left -= 1/
s/buy->refill = got/buy->refill = false/
s/mglru_pool_word(gen, left));/mglru_pool_word(0, left));/
s/pocket->proven -= buy->pages/pocket->proven -= 0/
s/__atomic_compare_exchange_n(.*)/(*(word) = (new), true)/
'

name=$(basename "$HEADER" .h)
list=MUTANTS_$name
mapfile -t mutants < <(grep . <<<"${!list}")
[ "${#mutants[@]}" -gt 0 ] || { echo "Bail out! no mutants of $HEADER"; exit 1; }
echo "KTAP version 1"
echo "1..${#mutants[@]}"
bad=0
for i in "${!mutants[@]}"; do
	dir=$OUT/mutant.$i
	mkdir -p "$dir"
	sed "${mutants[i]}" "$HEADER" >"$dir/$name.h"
	status=ok
	if cmp -s "$HEADER" "$dir/$name.h"; then
		echo "# changes nothing: ${mutants[i]}"
		status='not ok'
	elif ! $CC -pthread -I"$dir" -o "$dir/test" "$TEST"; then
		echo "# does not compile: ${mutants[i]}"
		status='not ok'
	elif timeout 60 "$dir/test" >"$dir/log"; then
		echo "# passes all the same: ${mutants[i]}"
		status='not ok'
	fi
	[ "$status" = ok ] || bad=1
	echo "$status $((i + 1)) fails with ${mutants[i]}"
done
rm -rf "$OUT"/mutant.*
exit $bad
