#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# Workload B (executable text brought in by readahead(2), 8M): scan resistance.
# fault_youngest may cost at most 10 % more text faults than original.
# mark_accessed lets streamed read() data start in the youngest generation and
# is expected to be worse: reported, and checked to be worse, or the workload
# shows nothing.
. "$(dirname "$0")/lib.sh"
. "$(dirname "$0")/proof.sh"

B=(B --text 8M --case ra)

test_stock() {
	measure stock text_majflt 100 400 "${B[@]}"
	STOCK=$(median "${RESULTS[@]}")
}
test_original() {
	measure original text_majflt 100 400 "${B[@]}"
	ORIGINAL=$(median "${RESULTS[@]}")
	[ "${STOCK:-none}" != none ] || { fail "no stock run to compare with"; return; }
	between "original: median against stock" $((STOCK * 90 / 100)) $((STOCK * 110 / 100)) "$ORIGINAL"
}
test_fault_youngest() {
	[ "${ORIGINAL:-none}" != none ] || { fail "no run of original to compare with"; return; }
	measure fault_youngest text_majflt 0 1000 "${B[@]}"
	between "fault_youngest: median against original" 0 $((ORIGINAL * 110 / 100)) \
		"$(median "${RESULTS[@]}")"
}
test_mark_accessed_is_worse() {
	[ "${ORIGINAL:-none}" != none ] || { fail "no run of original to compare with"; return; }
	measure mark_accessed text_majflt 0 2000 "${B[@]}"
	between "mark_accessed: median against original" $((ORIGINAL * 110 / 100)) 2000 \
		"$(median "${RESULTS[@]}")"
}

run_tests test_stock test_original test_fault_youngest test_mark_accessed_is_worse
