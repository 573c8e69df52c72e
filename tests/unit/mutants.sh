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
s/if (pocket->life != buy->life)/if (0)/
s/buy->expired += pocket->pages;/;/
s/buy->returned && pocket->retries < need/0/
s/buy->returned && pocket->retries < need/buy->returned/
s/pocket->pages && pocket->node != buy->node/0/
s/mglru_pool_pages(word) ? mglru_pool_gen(word) : pocket->gen/mglru_pool_gen(word)/
s/mglru_credit_quiet(pocket->gen, gen)/0/
s/mglru_credit_quiet(pocket->gen, buy->gen)/0/
s/return expired + mglru_pool_add(pool, gen, left, MGLRU_POOL_MAX)/return expired/
s/if (buy->pages > size)/if (0)/
s/0, size - pocket->pages,/0, size,/
s/buy->hit = pocket->pages >= buy->pages/buy->hit = pocket->pages > buy->pages/
s/pocket->pages += got/pocket->pages = got/
s/pocket->pages -= buy->pages/pocket->pages -= 1/
s/buy->refill = got/buy->refill = false/
s/pocket->node = buy->node/pocket->node = 0/
s/pocket->gen = buy->gen/pocket->gen = 0/
s/buy->pages < retries ? buy->pages : retries;/buy->pages;/
s/pocket->retries -= need/pocket->retries -= 0/
s/pocket->retries + buy->pages : retries/pocket->retries + buy->pages : 0/
s/pocket->retries + buy->pages < retries/1/
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
