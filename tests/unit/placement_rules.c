// SPDX-License-Identifier: GPL-2.0-only
/*
 * mglru_add_age() and mglru_add_seq() against what the kernels' own
 * lru_gen_folio_seq() answers, transcribed here from each kernel's
 * include/linux/mm_inline.h, for every state a folio can be in. KTAP.
 */
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "mglru_policy.h"

#define MIN_NR_GENS	2U
#define MAX_NR_GENS	4U
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))

/* What lru_gen_folio_seq() asks a folio. */
struct folio {
	bool file_lru, swapcache, active, workingset, referenced;
	bool reclaim, dirty, writeback;
};

#define FOLIO_STATES	256	/* eight bits */

static struct folio folio_of(unsigned int n)
{
	return (struct folio){
		.file_lru = n & 1,
		.swapcache = n & 2,
		.active = n & 4,
		.workingset = n & 8,
		.referenced = n & 16,
		.reclaim = n & 32,
		.dirty = n & 64,
		.writeback = n & 128,
	};
}

static bool folio_is_file_lru(const struct folio *folio) { return folio->file_lru; }
static bool folio_test_swapcache(const struct folio *folio) { return folio->swapcache; }
static bool folio_test_active(const struct folio *folio) { return folio->active; }
static bool folio_test_workingset(const struct folio *folio) { return folio->workingset; }
static bool folio_test_referenced(const struct folio *folio) { return folio->referenced; }
static bool folio_test_reclaim(const struct folio *folio) { return folio->reclaim; }
static bool folio_test_dirty(const struct folio *folio) { return folio->dirty; }
static bool folio_test_writeback(const struct folio *folio) { return folio->writeback; }

/*
 * The kernels' code, word for word but for "reclaiming", which is false in
 * lru_add(), and gcc's parentheses.
 */

/* 6.14 to 7.1 */
static unsigned long seq_6_14(const struct folio *folio, unsigned long max_seq,
			      unsigned long min_seq)
{
	int gen;

	if (folio_test_active(folio))
		gen = MIN_NR_GENS - folio_test_workingset(folio);
	else if ((!folio_is_file_lru(folio) && !folio_test_swapcache(folio)) ||
		 (folio_test_reclaim(folio) &&
		  (folio_test_dirty(folio) || folio_test_writeback(folio))))
		gen = MIN_NR_GENS;
	else
		gen = MAX_NR_GENS - folio_test_workingset(folio);

	return max_seq - gen + 1 > min_seq ? max_seq - gen + 1 : min_seq;
}

/* 7.2, 7.3 */
static unsigned long seq_7_2(const struct folio *folio, unsigned long max_seq,
			     unsigned long min_seq)
{
	int gen;

	if (folio_test_active(folio))
		gen = MIN_NR_GENS - folio_test_workingset(folio);
	else if ((!folio_is_file_lru(folio) && !folio_test_swapcache(folio)) ||
		 (folio_test_reclaim(folio) &&
		  (folio_test_dirty(folio) || folio_test_writeback(folio))))
		gen = MIN_NR_GENS;
	else
		gen = MAX_NR_GENS - (folio_test_workingset(folio) || folio_test_referenced(folio));

	return max_seq - gen + 1 > min_seq ? max_seq - gen + 1 : min_seq;
}

/* v2 of the change that became 7.2's, with its precedence as posted */
static unsigned long seq_v2(const struct folio *folio, unsigned long max_seq,
			    unsigned long min_seq)
{
	int gen;

	if (folio_test_active(folio))
		gen = MIN_NR_GENS - folio_test_workingset(folio);
	else if (folio_test_reclaim(folio) &&
		 (folio_test_dirty(folio) || folio_test_writeback(folio)))
		gen = MIN_NR_GENS;
	else
		gen = MAX_NR_GENS - folio_test_workingset(folio) || folio_test_referenced(folio);

	return max_seq - gen + 1 > min_seq ? max_seq - gen + 1 : min_seq;
}

/* No kernel's: youngest unless active, and active as everywhere. */
static unsigned long seq_youngest(const struct folio *folio, unsigned long max_seq,
				  unsigned long min_seq)
{
	return folio->active ? seq_7_2(folio, max_seq, min_seq) : max_seq;
}

/* What module/placement.c tells mglru_add_age() of a folio. */
static unsigned int flags_of(const struct folio *folio)
{
	return (folio->active ? MGLRU_F_ACTIVE : 0) |
	       (folio->workingset ? MGLRU_F_WORKINGSET : 0) |
	       (folio->referenced ? MGLRU_F_REFERENCED : 0) |
	       (!folio->file_lru && !folio->swapcache ? MGLRU_F_PLAIN_ANON : 0) |
	       (folio->reclaim && (folio->dirty || folio->writeback) ? MGLRU_F_WRITEBACK : 0);
}

static const struct {
	const char *name;
	enum mglru_add_rule rule;
	unsigned long (*kernel)(const struct folio *folio, unsigned long max_seq,
				unsigned long min_seq);
} rules[] = {
	{ "6.14 to 7.1", MGLRU_ADD_6_14, seq_6_14 },
	{ "7.2", MGLRU_ADD_7_2, seq_7_2 },
	{ "v2", MGLRU_ADD_V2, seq_v2 },
	{ "youngest", MGLRU_ADD_YOUNGEST, seq_youngest },
};

/*
 * The generations that a lruvec can have: two to four of them, from its birth
 * (max_seq 3) to the end of the numbers.
 */
static const unsigned long max_seqs[] = { 3, 4, 5, 1000, ULONG_MAX - 1, ULONG_MAX };

static int number, failed;

static void result(bool good, const char *what, const char *name)
{
	printf("%sok %d %s%s\n", good ? "" : "not ", ++number, what, name);
	failed |= !good;
}

static bool rule_agrees(unsigned int r)
{
	bool seen[32] = { false };
	unsigned int n, i, gens, states = 0;
	bool good = true;

	for (n = 0; n < FOLIO_STATES; n++) {
		struct folio folio = folio_of(n);
		unsigned int f = flags_of(&folio);
		unsigned int age = mglru_add_age(rules[r].rule, f);

		states += !seen[f];
		seen[f] = true;
		for (i = 0; i < ARRAY_SIZE(max_seqs); i++) {
			for (gens = MIN_NR_GENS; gens <= MAX_NR_GENS; gens++) {
				unsigned long max_seq = max_seqs[i];
				unsigned long min_seq = max_seq - gens + 1;
				unsigned long want = rules[r].kernel(&folio, max_seq, min_seq);
				unsigned long got = mglru_add_seq(max_seq, min_seq, age);

				if (got == want)
					continue;
				printf("# flags 0x%02x, seqs %lu to %lu: %lu, the kernel: %lu\n",
				       f, min_seq, max_seq, got, want);
				good = false;
			}
		}
	}
	if (states != ARRAY_SIZE(seen))
		printf("# only %u of 32 flag states were tried\n", states);
	return good && states == ARRAY_SIZE(seen);
}

/* Whatever the flags, the age is one that a lruvec can have. */
static bool ages_are_in_range(void)
{
	unsigned int r, f;

	for (r = 0; r < ARRAY_SIZE(rules); r++)
		for (f = 0; f < 32; f++) {
			unsigned int age = mglru_add_age(rules[r].rule, f);

			if (age < 1 || age > MAX_NR_GENS)
				return false;
		}
	return true;
}

static bool seq_is_clamped(void)
{
	return mglru_add_seq(3, 0, 1) == 3 && mglru_add_seq(3, 0, 4) == 0 &&
	       mglru_add_seq(3, 2, 4) == 2 && mglru_add_seq(10, 10, 1) == 10 &&
	       mglru_add_seq(10, 9, 2) == 9 && mglru_add_seq(10, 9, 3) == 9 &&
	       mglru_add_seq(ULONG_MAX, ULONG_MAX - 3, 1) == ULONG_MAX &&
	       mglru_add_seq(ULONG_MAX, ULONG_MAX - 3, 4) == ULONG_MAX - 3 &&
	       mglru_add_seq(ULONG_MAX, ULONG_MAX - 1, 4) == ULONG_MAX - 1;
}

/* The words of mglru.stat: there, different, no blanks. */
static bool stat_names_are_keys(void)
{
	const char *names[MGLRU_NR_STATS] = { NULL };
	unsigned int i, j;

#define X(id, name) (names[MGLRU_STAT_##id] = (name)),
	(void)(MGLRU_STATS(X) 0);
#undef X

	for (i = 0; i < ARRAY_SIZE(names); i++) {
		if (!names[i] || !names[i][0] || strpbrk(names[i], " \t\n"))
			return false;
		for (j = 0; j < i; j++)
			if (!strcmp(names[i], names[j]))
				return false;
	}
	return true;
}

static bool policy_values_fit(void)
{
	unsigned int last = MGLRU_NR_PLACEMENTS - 1, all = MGLRU_POLICY_MASK;

	return last <= MGLRU_PLACEMENT_MASK && last <= all && all < MGLRU_INHERIT;
}

int main(void)
{
	unsigned int r;

	printf("KTAP version 1\n1..%zu\n", ARRAY_SIZE(rules) + 5);
	for (r = 0; r < ARRAY_SIZE(rules); r++)
		result(rule_agrees(r), "places as the kernel's code does: ", rules[r].name);
	result(ARRAY_SIZE(rules) == MGLRU_NR_ADD_RULES - 1, "every rule is tried", "");
	result(ages_are_in_range(), "ages are 1 to 4", "");
	result(seq_is_clamped(), "no generation is older than the oldest", "");
	result(policy_values_fit(), "policy values fit their masks", "");
	result(stat_names_are_keys(), "counters have keys", "");
	return failed;
}
