#!/bin/bash
# SPDX-License-Identifier: GPL-2.0-only
# The files in sysfs against their entries in sysfs-doc/, both ways: each file
# has an entry of its mode, each entry a file; the same for the keys of
# mglru.stat. The comparison itself is tried on documents with a fault.
# Reads sysfs-doc/ beside tests/.
. "$(dirname "$0")/lib.sh"

MODULE_PARAMETERS=/sys/module/mglru_policy/parameters
FIELDS="Date KernelVersion Contact Description Users"

# The entries, one after another, as one text.
documents() {
	cat "$(dirname "$0")"/../../sysfs-doc/* 2>/dev/null
}

# "MODE PATH" for each entry of the text on stdin, MODE "dir" for a directory.
entries() {
	awk '
	/^What:/ { what = $2 }
	/^What:.*\/$/ { print "dir", what }
	/^Description:[ \t]+\(R[OW], 0[0-7]+\)/ {
		mode = $3
		sub(/^0/, "", mode)
		sub(/\)$/, "", mode)
		print mode, what
		what = ""
	}
	/^Description:/ { if (what != "" && what !~ /\/$/) print "none", what }'
}

# "MODE PATH" for each file that is there, and each directory that is no cgroup's.
tree() {
	find "$MGLRU" "$MODULE_PARAMETERS" -type f -printf '%m %p\n'
	find "$MGLRU" -maxdepth 1 -type d -printf 'dir %p/\n'
}

# compare ENTRIES TREE: what either has more than the other, nothing if they agree
compare() {
	awk '
	FNR == NR {
		re = $2
		gsub(/\.\.\./, "\001", re)
		gsub(/\./, "\\.", re)
		gsub(/\/\001\//, "(/.*)?/", re)
		mode[NR] = $1
		what[NR] = $2
		regex[NR] = "^" re "$"
		n = NR
		next
	}
	{
		found = 0
		for (i = 1; i <= n; i++) {
			if ($2 !~ regex[i])
				continue
			found = 1
			used[i] = 1
			if (mode[i] != $1)
				print $2 " has mode " $1 ", its entry says " mode[i]
		}
		if (!found)
			print $2 " has no entry"
	}
	END {
		for (i = 1; i <= n; i++)
			if (!(i in used))
				print "entry " what[i] ": there is no such file"
	}' <(echo "$1") <(echo "$2")
}

# The keys in the table of the entry of mglru.stat, in the text on stdin.
documented_keys() {
	awk '
	/^What:/ { here = ($2 ~ /\/mglru\.stat$/); table = 0 }
	here && $1 ~ /^=+$/ { table = !table; next }
	here && table && /^\t\t[a-z]/ { print $1 }' | sort
}
keys() { awk '{print $1}' "$1" | sort; }

# compare_keys DOCUMENTED FOUND
compare_keys() {
	comm -3 <(echo "$1") <(echo "$2") | sed 's/^\t\(.*\)/\1 is not documented/;t;s/$/ is documented only/'
}

test_entries_are_complete() {
	local problems
	problems=$(awk -v fields="$FIELDS" '
		function done(   i) {
			if (what != "")
				for (i = 1; i <= n; i++)
					if (!(f[i] in has)) print what " lacks " f[i]
			split("", has)
		}
		BEGIN { n = split(fields, f, " ") }
		/^What:/ { done(); what = $2 }
		/^[A-Z][A-Za-z]*:[ \t]*[^ \t]/ { sub(/:.*/, "", $1); has[$1] = 1 }
		END { done() }' <<<"$DOC")
	is "fields that are missing" "" "$problems"
	is "entries without (RO, 0444) or (RW, 0644)" "" "$(grep ^none <<<"$ENTRIES")"
	between "number of entries" 8 100 "$(wc -l <<<"$ENTRIES")"
}

test_each_file_has_an_entry_and_each_entry_a_file() {
	cg a
	cg b
	ok "a cgroup's files are in the tree" grep -q "$(cgpath a)/mglru.policy" <(tree)
	is "differences" "" "$(compare "$ENTRIES" "$(tree)")"
}

test_each_key_of_stat_is_documented_and_each_documented_key_is_there() {
	local documented
	documented=$(documented_keys <<<"$DOC")
	cg a
	between "number of documented keys" 5 100 "$(wc -l <<<"$documented")"
	is "differences at the root" "" "$(compare_keys "$documented" "$(keys "$MGLRU/cgroup/mglru.stat")")"
	is "differences in a cgroup" "" "$(compare_keys "$documented" "$(keys "$(mdir a)/mglru.stat")")"
	is "lines that are not KEY NUMBER" "" "$(grep -vE '^[a-z_]+ [0-9]+$' "$MGLRU/cgroup/mglru.stat")"
}

test_words_of_hooks_are_documented() {
	local f m state rest
	while read -r f m state rest; do
		case $f in '#') continue ;; esac
		ok "state '$state' is documented" grep -q -- "- $state:" <<<"$DOC"
		ok "mechanism '$m' is documented" grep -q "\"$m\"" <<<"$DOC"
		ok "users of $f is a number" test "${rest%% *}" -ge 0
	done <"$MGLRU/hooks"
}

# A comparison that cannot fail proves nothing.
test_comparison_finds_what_is_too_much() {
	local files docs
	files=$(tree)
	docs=$(documented_keys <<<"$DOC")
	is "an entry too many" "entry $MGLRU/invented: there is no such file" \
		"$(compare "$ENTRIES"$'\n'"444 $MGLRU/invented" "$files")"
	is "a file too many" "$MGLRU/invented has no entry" \
		"$(compare "$ENTRIES" "$files"$'\n'"444 $MGLRU/invented")"
	is "a cgroup's file too many" "$MGLRU/cgroup/x/mglru.invented has no entry" \
		"$(compare "$ENTRIES" "$files"$'\n'"644 $MGLRU/cgroup/x/mglru.invented")"
	is "another mode" "$MGLRU/hooks has mode 644, its entry says 444" \
		"$(compare "$ENTRIES" "${files/444 $MGLRU\/hooks/644 $MGLRU/hooks}")"
	is "a key too many" "zz is not documented" "$(compare_keys "$docs" "$docs"$'\n'zz)"
	is "a documented key too many" "zz is documented only" "$(compare_keys "$docs"$'\n'zz "$docs")"
	is "a file without its entry" "$MGLRU/available has no entry" \
		"$(compare "$(grep -v /available <<<"$ENTRIES")" "$files")"
}

DOC=$(documents)
if [ -z "$DOC" ]; then
	echo "Bail out! no sysfs-doc/ beside tests/"
	exit 1
fi
ENTRIES=$(entries <<<"$DOC")
need_module
run_tests test_entries_are_complete test_each_file_has_an_entry_and_each_entry_a_file \
	test_each_key_of_stat_is_documented_and_each_documented_key_is_there \
	test_words_of_hooks_are_documented test_comparison_finds_what_is_too_much
