#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# What a test may not do, chosen by the argument; each must fail (skip: pass).

case $1 in
not-ok) printf '1..2\nok 1 a\nnot ok 2 b\n' ;;
nested) printf '1..1\n    1..2\n    ok 1 a\nok 1 b\n' ;;
no-plan) printf 'ok 1 a\n' ;;
short) printf '1..2\nok 1 a\n' ;;
silent) ;;
status) printf '1..1\nok 1 a\n'; exit 3 ;;
slow) printf '1..1\nok 1 a\n'; sleep 1000 ;;
skip) echo '1..0 # SKIP nothing to see'; exit 4 ;;
bare-skip) exit 4 ;;
kmsg) printf '1..1\nok 1 a\n'; echo 'BUG: not really, said the test' >/dev/kmsg ;;
esac
