# SPDX-License-Identifier: GPL-2.0-only
#
# Reads the KTAP output of one test. Prints "problem TEXT" for all that makes it
# a failure, "reason TEXT" for each skip, and last "count RESULTS SKIPPED".
# Levels of nesting are told apart by their indentation.

function level(s) { match(s, /^ */); return RLENGTH }
function problem(s) { print "problem " s }

function close_level(l) {
	if (!(l in plan))
		problem(seen[l] " results" (l ? " of a nested test" : "") " without a plan")
	else if (seen[l] + 0 != plan[l])
		problem("the plan says " plan[l] " results" (l ? " of a nested test" : "") ", there are " seen[l] + 0)
	delete plan[l]
	delete seen[l]
}

# what was nested deeper than l is over
function close_deeper(l,    k, n, deep) {
	n = 0
	for (k in plan) if (k + 0 > l) deep[++n] = k
	for (k in seen) if (k + 0 > l && !(k in plan)) deep[++n] = k
	for (k = 1; k <= n; k++) close_level(deep[k] + 0)
}

{ sub(/\r$/, "") }

/^ *1\.\.[0-9]+/ {
	l = level($0)
	if (l in plan && l == 0) problem("more than one plan")
	else if (l in plan) close_level(l)
	n = $0
	sub(/^ *1\.\./, "", n)
	plan[l] = n + 0
	if (l == 0) planned = 1
	if (plan[l] == 0) {
		if (!match($0, /# *SKIP/)) problem("a plan of no tests, and no reason for skipping: " $0)
		else {
			n = substr($0, RSTART + RLENGTH)
			sub(/^ */, "", n)
			if (n == "") problem("skipped without a reason: " $0)
			else print "reason " n
			if (l == 0) all_skipped = 1
		}
	}
	next
}

/^ *(not )?ok [0-9]+/ {
	l = level($0)
	close_deeper(l)
	seen[l]++
	n = $0
	sub(/^ *(not )?ok /, "", n)
	if (n + 0 != seen[l]) problem("result " seen[l] " is numbered " n + 0)
	if ($1 == "not") problem($0)
	else if (match($0, /# *SKIP/)) {
		n = substr($0, RSTART + RLENGTH)
		sub(/^ */, "", n)
		if (n == "") problem("skipped without a reason: " $0)
		else print "reason " n
		if (l == 0) skipped++
	}
	if (l == 0) results++
	next
}

/^Bail out!/ { problem($0) }

END {
	close_deeper(-1)
	if (!planned && !results) problem("no plan and no results")
	print "count " results + 0 " " skipped + 0 " " all_skipped + 0
}
