#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workload D: what an aging costs when batched, against original, on the same
# kernel; for many small folios and for few huge ones.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

# At most so many percent of the time that original takes.
SMALL=40
HUGE=100

# age AGING ARGS...: the median in microseconds, left in TOOK; with batched, it
# must have folded. AGING stock: without the module; beside: with original, while
# another cgroup is batched.
age() {
	local aging=$1 setup=: line folded
	shift
	TOOK=0
	if [ "$aging" = stock ]; then
		loaded && unload
	else
		loaded || load || { fail "cannot load the module"; return 1; }
		setup="echo ${aging/beside/original} >$MGLRU/cgroup/$(cgpath d)/mglru.aging"
	fi
	cg d
	if [ "$aging" = beside ]; then
		cg other
		echo batched >"$(mdir other)/mglru.aging"
	fi
	line=$("$WORKLOAD" D "$@" --cgroup "$(cgpath d)" --setup "$setup" 2>"/tmp/workload.$$") ||
		{ fail "$aging: $(tail -n 1 "/tmp/workload.$$")"; return 1; }
	echo "RESULT series=${SERIES:-$(uname -r)} aging=$aging $line"
	TOOK=$(value "$line" median_us)
	LATE=$(value "$line" late_us)
	if [ "$aging" = batched ]; then
		folded=$(stat_of d aging_folded)
		between "folios folded" "$(($(value "$line" pages) / 512))" 100000000 "$folded"
	fi
	rmdir "$CGROOT/$(cgpath d)"
	if [ "$aging" = beside ]; then rmdir "$CGROOT/$(cgpath other)"; fi
}

# compare PERCENT ARGS...: original and batched
compare() {
	local most=$1 original
	shift
	age original "$@" && original=$TOOK || return
	age batched "$@" || return
	say "$(printf '%-15s original %8s us  batched %8s us  %d.%d %%' "${*//--/}" "$original" "$TOOK" \
		$((TOOK * 100 / original)) $((TOOK * 1000 / original % 10)))"
	between "percent of original" 1 "$most" $(((TOOK * 100 + original - 1) / original))
}

# Who stays with original pays nothing, be the function redirected or not.
test_original_is_stock() {
	local stock original
	age stock --size 16M && stock=$TOOK || return
	age original --size 16M && original=$TOOK || return
	age beside --size 16M || return
	say "size 16M: stock $stock us  original $original us  beside a batched one $TOOK us"
	between "original, percent of stock" 98 102 $((original * 100 / stock))
	between "beside a batched one, percent of stock" 98 102 $((TOOK * 100 / stock))
}

# The longest time for which agings kept a real-time task from running.
test_held() {
	local original
	age original --size 64M --late && original=$LATE || return
	age batched --size 64M --late || return
	say "longest time held: original $original us  batched $LATE us"
	between "it would be seen: microseconds, original" 1000 100000 "$original"
	between "microseconds, batched" 1 "$original" "$LATE"
}

test_64_MiB() { compare "$SMALL" --size 64M; }
test_256_MiB() { compare "$SMALL" --size 256M; }
test_huge_pages() { compare "$HUGE" --size 256M --thp; }

case ${SERIES:-$(uname -r)} in 6.12*) skip_all "batched aging is unavailable on this kernel (before 6.14)" ;; esac
run_tests test_original_is_stock test_64_MiB test_256_MiB test_huge_pages test_held
