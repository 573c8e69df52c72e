#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
#
# disasm.sh [FILE.ko...]: read the built module's code. Runs on the host, not in
# a guest; needs objdump. Without arguments: all build/*/mglru_policy.ko.
#
# Kernels built with X86_KERNEL_IBT have no endbr64 in functions whose address
# they never take. To jump to one through a pointer is fatal on hardware with
# CET, and no emulated CPU shows it. So no indirect call or jump may be in the
# module, except for those of ALLOWED. Originals are reached by static calls, and
# each site of one must be a direct call.
#
# That the check can fail is tested too: by modules/mglru_test_indirect.ko
# beside the module, which has planted faults, and by a changed listing.

# FUNCTION NUMBER WHY: indirect calls that cannot go wrong. They lead into the
# module, or to what the kernel itself calls through the same pointer.
# mglru_life_walk() is inlined into mglru_life_start(), or not.
ALLOWED='
mglru_hook_find 1 hook->aim(), text of the module
mglru_life_start 1 css_put(), inlined: ref->data->release(), by the pointer that percpu-refcount uses
mglru_life_walk 1 the same
'

TOP=$(cd "$(dirname "$0")/../.." && pwd)

# The code and the table of static calls of FILE, in one listing.
listing() {
	LC_ALL=C objdump -dr --no-show-raw-insn "$1" &&
		LC_ALL=C objdump -r -j .static_call_sites "$1" 2>/dev/null
}

# What is wrong in a listing, a line each: "indirect FUNCTION INSTRUCTION" or
# "static FUNCTION ...". Then "sites N": how many static calls there are.
findings() {
	awk '
	# An instruction is complete when the next line is no relocation.
	function flush(	where) {
		if (insn == "")
			return
		if (insn ~ /^([a-z]+ )*(call|jmp|lcall|ljmp)[a-z]* +\*/ || reloc ~ /^__x86_indirect_/) {
			print "indirect", func, insn (reloc == "" ? "" : " -> " reloc)
			if (reloc ~ /^__SCT__/)
				print "static", func, "reaches", reloc, "by", insn
		}
		where = section "+" addr
		if (insn ~ /^([a-z]+ )*(call|jmp) / && insn !~ /\*/ && reloc ~ /^__SCT__/)
			direct[where] = reloc
		at[where] = func
		insn = ""
	}
	function hex(s,	i, n) {
		n = 0
		sub(/^(0x)?0*/, "", s)
		for (i = 1; i <= length(s); i++)
			n = n * 16 + index("0123456789abcdef", substr(s, i, 1)) - 1
		return n
	}
	/^Disassembly of section / { flush(); section = $4; sub(/:$/, "", section); next }
	/^RELOCATION RECORDS FOR / { flush(); table = 1; next }
	table && $2 ~ /^R_X86_64_/ {
		split($3, w, "+")
		if (hex($1) % 8 == 0) {
			site = (w[1] ~ /^\./ ? w[1] : home[w[1]]) "+" (hex(w[2]) + start[w[1]])
			next
		}
		key = w[1]
		sub(/^__SC[KT]__/, "", key)
		sites++
		if (direct[site] != "__SCT__" key)
			print "static", (site in at ? at[site] : "?"), "no direct call of", key, "at", site
		used[key]++
		next
	}
	/^[0-9a-f]+ <.*>:$/ {
		flush()
		func = $2
		gsub(/[<>:]/, "", func)
		home[func] = section
		start[func] = hex($1)
		if (section == ".static_call.text" && func ~ /^__SCT__/)
			defined[substr(func, 8)] = 1
		next
	}
	/^ *[0-9a-f]+:\t/ {
		flush()
		addr = $1
		sub(/:$/, "", addr)
		addr = hex(addr)
		insn = $0
		sub(/^[^\t]*\t/, "", insn)
		sub(/ *[#<].*$/, "", insn)
		reloc = ""
		next
	}
	/^\t+[0-9a-f]+: R_X86_64_/ {
		# A call with a second relocation has its target in the last one.
		reloc = $3
		sub(/[-+]0x[0-9a-f]+$/, "", reloc)
		next
	}
	END {
		flush()
		for (key in defined)
			if (!used[key])
				print "static", "?", "no site of", key, "is in the table"
		print "sites", sites + 0
	}'
}

# Take ALLOWED from the findings; what is left is wrong.
judge() {
	awk -v allowed="$ALLOWED" '
	BEGIN {
		n = split(allowed, line, "\n")
		for (i = 1; i <= n; i++)
			if (split(line[i], w, " ") > 2)
				may[w[1]] = w[2]
	}
	$1 == "indirect" && may[$2] > 0 { may[$2]--; next }
	$1 == "sites" { next }
	{ print }'
}

number=0 bad=0
result() { # result STATUS DESCRIPTION
	number=$((number + 1))
	if [ "$1" = 0 ]; then
		echo "ok $number $2"
	else
		echo "not ok $number $2"
		bad=1
	fi
}

# checks FILE: four results
checks() {
	local ko=$1 name code found sites planted text wrong

	name=$(basename "$(dirname "$ko")")/$(basename "$ko")
	if ! code=$(listing "$ko"); then
		echo "# objdump cannot read $ko"
		code=
	fi
	found=$(findings <<<"$code")
	text=$(grep -c '^ *[0-9a-f]*:	' <<<"$code")

	wrong=$(judge <<<"$found" | grep '^indirect')
	[ -z "$wrong" ] || printf '%s\n' "$wrong" | sed 's/^/# /'
	result "$( { [ -z "$wrong" ] && [ "$text" -gt 1000 ]; }; echo $?)" \
		"$name: no indirect call in $text instructions"

	wrong=$(judge <<<"$found" | grep '^static')
	sites=$(sed -n 's/^sites //p' <<<"$found")
	[ -z "$wrong" ] || printf '%s\n' "$wrong" | sed 's/^/# /'
	result "$( { [ -z "$wrong" ] && [ "${sites:-0}" -ge 4 ]; }; echo $?)" \
		"$name: $sites static call sites are direct calls"

	planted=$(dirname "$ko")/modules/mglru_test_indirect.ko
	[ -e "$planted" ] || echo "# there is no $planted: build tests/modules too"
	wrong=$(listing "$planted" 2>/dev/null | findings | judge | awk '$1 == "indirect" {print $2, $3}' | sort | tr '\n' ' ')
	[ "$wrong" = "mglru_test_planted_call call mglru_test_planted_jump jmp " ] ||
		echo "# reported: ${wrong:-nothing}"
	result "$([ "$wrong" = "mglru_test_planted_call call mglru_test_planted_jump jmp " ]; echo $?)" \
		"$name: planted indirect calls are reported"

	# The first call of an original, made indirect.
	wrong=$(awk '
		/call / && !done { held = $0; next }
		held != "" {
			if (/__SCT__mglru_orig/) { sub(/call .*/, "call   *%rax", held); done = 1 }
			print held
			held = ""
		}
		{ print }' <<<"$code" | findings | judge | awk '{print $1}' | sort -u | tr '\n' ' ')
	[ "$wrong" = "indirect static " ] || echo "# reported: ${wrong:-nothing}"
	result "$([ "$wrong" = "indirect static " ]; echo $?)" "$name: an indirect call of an original is reported"
}

case ${1:-} in
-h|--help) sed -n '4,16s/^# \?//p' "$0"; exit 0 ;;
esac
echo "KTAP version 1"
if ! command -v objdump >/dev/null; then
	echo "1..0 # SKIP no objdump; install binutils"
	exit 4
fi
if [ $# = 0 ]; then
	shopt -s nullglob
	set -- "$TOP"/build/*/mglru_policy.ko
fi
if [ $# = 0 ]; then
	echo "1..0 # SKIP no module is built; give FILE.ko or run tests/qemu/build.sh SERIES"
	exit 4
fi
echo "1..$((4 * $#))"
for ko in "$@"; do
	checks "$ko"
done
exit $bad
