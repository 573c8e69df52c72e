#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workload A (strided mmap read, 40M of 60M), 4 measured passes: refaults. It
# judges placement on 6.14 to 7.1 only: from 7.2 on such a mapping loses its
# read-around after 100 misses.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

A=(A --limit 40M --file 60M --warm 4 --passes 4)

case ${SERIES:-$(uname -r)} in
6.14* | 6.15* | 6.16* | 6.17* | 6.18* | 6.19* | 7.0* | 7.1*) ;;
*) skip_all "workload A judges placement on 6.14 to 7.1 only" ;;
esac

test_stock() {
	measure stock refault_file 40000 100000 "${A[@]}"
	STOCK=$(median "${RESULTS[@]}")
}

# The kernel's own way must be within 10 % of the kernel without the module.
as_stock() {
	[ "${STOCK:-none}" != none ] || { fail "no stock run to compare with"; return; }
	measure "$1" refault_file 40000 100000 "${A[@]}"
	between "$1: median against stock" $((STOCK * 90 / 100)) $((STOCK * 110 / 100)) \
		"$(median "${RESULTS[@]}")"
}
test_original() { as_stock original; }
test_set_active() { as_stock set_active; }
# Refaults from the second pass on for a while, then fewer and fewer: with 7.2's
# lru_gen_set_refs(), which is part of the policy, the second access promotes to
# the second youngest generation only, and the storm dies down within some five
# passes (stock 7.2 with a PROT_EXEC mapping, which still reads around, behaves
# alike). Without that part it never ends. So look at the early passes.
test_mark_accessed_v3() {
	measure mark_accessed_v3 refault_file 10000 60000 A --limit 40M --file 60M --warm 1 --passes 3
}
test_mark_accessed() { measure mark_accessed refault_file 0 0 "${A[@]}"; }
test_fault_youngest_early() {
	measure fault_youngest refault_file 0 4000 A --limit 40M --file 60M --warm 1 --passes 3
}
test_fault_youngest() { measure fault_youngest refault_file 0 0 "${A[@]}"; }

run_tests test_stock test_original test_set_active test_mark_accessed_v3 \
	test_mark_accessed test_fault_youngest_early test_fault_youngest
