/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The words that the module, its tests and its tools share: policy names,
 * counters and the rules by which a policy places a folio.
 *
 * Everything here is plain C without kernel calls, so that tests/unit can
 * compile it in user space and compare it, case by case, with what each
 * kernel's lru_gen_folio_seq() would have answered.
 */
#ifndef MGLRU_POLICY_H
#define MGLRU_POLICY_H

/* What folio_add_lru() does to a folio added inside a page fault. */
enum mglru_placement {
	MGLRU_ORIGINAL,		/* the running kernel's own code, untouched */
	MGLRU_SET_ACTIVE,
	MGLRU_MARK_ACCESSED,
	MGLRU_MARK_ACCESSED_V3,
	MGLRU_FAULT_YOUNGEST,
	MGLRU_READAHEAD_CREDIT,
	MGLRU_NR_PLACEMENTS,
};

/*
 * A policy value is a small integer: the placement in the low three bits, above
 * it what combines with a placement by '+', above that how the cgroup ages, which
 * is asked for and inherited by itself. It has to fit MGLRU_POLICY_MASK, see the
 * slot table in module/memcg.c.
 */
#define MGLRU_POLICY_BITS	6
#define MGLRU_POLICY_MASK	((1u << MGLRU_POLICY_BITS) - 1)
#define MGLRU_PLACEMENT_MASK	0x7u
#define MGLRU_EXEC_ON		0x8u	/* exec_promotion */
#define MGLRU_EXEC_OFF		0x10u	/* no_exec_promotion */
#define MGLRU_EXEC_MASK		(MGLRU_EXEC_ON | MGLRU_EXEC_OFF)
#define MGLRU_AGING_BATCHED	0x20u	/* mglru.aging; unset: original */
#define MGLRU_INHERIT		0xffu	/* asked for, never in force */

/*
 * Counters of mglru.stat, in the order of printing. They count what the
 * module's replacements did since the cgroup appeared: decisions, one per
 * folio; of credit (readahead_credit) pages; of pockets how often. What runs
 * the kernel's own code is not counted: it costs nothing.
 */
#define MGLRU_STATS(X)							\
	X(ADD_ACTIVE,	"add_active")	/* in fault: made active */	\
	X(ADD_ACCESSED,	"add_accessed")	/* in fault: accessed once */	\
	X(ADD_YOUNGEST,	"add_youngest")	/* accessed once, youngest gen */ \
	X(ADD_CREDIT,	"add_credit")	/* in fault: active, by credit */ \
	X(ADD_OTHER,	"add_other")	/* added outside a fault */	\
	X(REFS_PROMOTED, "refs_promoted") /* second access: workingset */ \
	X(REFS_COUNTED,	"refs_counted")	/* second access: counted only */ \
	X(EXEC_WALK,	"exec_promoted_walk")	/* first access, aging */ \
	X(EXEC_RMAP,	"exec_promoted_rmap")	/* first access, reclaim */ \
	X(EXEC_NOT,	"exec_not_promoted")	/* first access, file folio */ \
	X(EXEC_UNKNOWN,	"exec_unknown")		/* the same, no VMA known */ \
	X(CREDIT_EARNED, "credit_earned")	/* by refaults */	\
	X(CREDIT_SPENT,	"credit_spent")		/* on folios made active */ \
	X(CREDIT_DENIED, "credit_denied")	/* folios that it did not cover */ \
	X(CREDIT_UNPROVEN, "credit_unproven")	/* no hits for those folios */ \
	X(CREDIT_EXPIRED, "credit_expired")	/* cap, fading, reset */ \
	X(READAHEAD_HITS, "readahead_hits")	/* marked folio touched, in fault */ \
	X(POCKET_HITS,	"pocket_hits")		/* pocket had enough */	\
	X(POCKET_REFILLS, "pocket_refills")	/* pool was drawn on */ \
	X(AGING_BATCHED, "aging_batched") /* agings that found folios to fold */ \
	X(AGING_FOLDED,	"aging_folded")	/* into the second oldest generation */ \
	X(AGING_PROMOTED, "aging_promoted") /* met in the oldest one's list */

enum mglru_stat {
#define X(id, name) MGLRU_STAT_##id,
	MGLRU_STATS(X)
#undef X
	MGLRU_NR_STATS
};

/* How a folio that is added inside a fault is marked. */
enum mglru_fault_rule {
	MGLRU_FAULT_NATIVE,
	MGLRU_FAULT_ACTIVATE,	/* PG_active, always */
	MGLRU_FAULT_ACCESS,	/* PG_active if workingset, else accessed once */
	MGLRU_FAULT_ONCE,	/* accessed once, always */
	MGLRU_FAULT_CREDIT,	/* as ACCESS, but PG_active while credit lasts */
};

/*
 * In which generation lru_add() lets a folio start. Named by the kernels whose
 * lru_gen_folio_seq() it is; YOUNGEST holds for folios added in a fault only.
 */
enum mglru_add_rule {
	MGLRU_ADD_NATIVE,
	MGLRU_ADD_6_14,		/* 6.14 to 7.1 */
	MGLRU_ADD_7_2,		/* 7.2 and later: a referenced folio is warmer */
	MGLRU_ADD_V2,		/* v2 of 7.2's change, as its code acts */
	MGLRU_ADD_YOUNGEST,
	MGLRU_NR_ADD_RULES,
};

/* What lru_gen_set_refs() does on the second access through page tables. */
enum mglru_refs_rule {
	MGLRU_REFS_NATIVE,
	MGLRU_REFS_6_14,	/* always promote */
	MGLRU_REFS_7_2,		/* promote from the third access on, else count */
	MGLRU_REFS_V2,		/* promote if PG_active, keep the flags if not */
};

/* State of a folio that lru_add() looks at, one bit each. */
#define MGLRU_F_ACTIVE		0x01u	/* PG_active */
#define MGLRU_F_WORKINGSET	0x02u	/* PG_workingset */
#define MGLRU_F_REFERENCED	0x04u	/* PG_referenced */
#define MGLRU_F_PLAIN_ANON	0x08u	/* anonymous and not in the swap cache */
#define MGLRU_F_WRITEBACK	0x10u	/* PG_reclaim, and dirty or in writeback */

/* The kernel's MIN_NR_GENS and MAX_NR_GENS; module/placement.c asserts it. */
#define MGLRU_MIN_GENS		2u
#define MGLRU_MAX_GENS		4u

/**
 * mglru_add_age - in which generation a rule lets an added folio start
 * @rule: the rule, not MGLRU_ADD_NATIVE
 * @f: MGLRU_F_* of the folio
 *
 * The arithmetic of lru_gen_folio_seq() in include/linux/mm_inline.h: commit
 * 4d5d14a01e2c ("mm/mglru: rework workingset protection") for 6.14, and
 * 6cbdd9726fb5 ("mm/mglru: use folio_mark_accessed to replace
 * folio_set_active") with its v2 for the later ones.
 *
 * Return: 1 for the youngest generation, 2 for the second youngest, up to
 * MGLRU_MAX_GENS for the oldest possible one.
 */
static inline unsigned int mglru_add_age(enum mglru_add_rule rule, unsigned int f)
{
	if (f & MGLRU_F_ACTIVE)
		return MGLRU_MIN_GENS - !!(f & MGLRU_F_WORKINGSET);
	if (rule == MGLRU_ADD_YOUNGEST)
		return 1;
	if (f & MGLRU_F_WRITEBACK)
		return MGLRU_MIN_GENS;
	/*
	 * v2 says "MAX_NR_GENS - a || b", which is always 1, and drops the
	 * rule for plain anon below.
	 */
	if (rule == MGLRU_ADD_V2)
		return 1;
	if (f & MGLRU_F_PLAIN_ANON)
		return MGLRU_MIN_GENS;
	if (rule == MGLRU_ADD_7_2)
		return MGLRU_MAX_GENS - !!(f & (MGLRU_F_WORKINGSET | MGLRU_F_REFERENCED));
	return MGLRU_MAX_GENS - !!(f & MGLRU_F_WORKINGSET);
}

/**
 * mglru_add_seq - the sequence number that belongs to an age
 * @max_seq: the lruvec's youngest generation
 * @min_seq: its oldest generation of the folio's type
 * @age: from mglru_add_age()
 *
 * Return: the generation's sequence number; never older than @min_seq.
 */
static inline unsigned long mglru_add_seq(unsigned long max_seq,
					  unsigned long min_seq, unsigned int age)
{
	unsigned long seq = max_seq - age + 1;

	return seq > min_seq ? seq : min_seq;
}

#endif /* MGLRU_POLICY_H */
