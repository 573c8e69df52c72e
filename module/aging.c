// SPDX-License-Identifier: GPL-2.0-only
/*
 * How the oldest generation is folded into the next.
 *
 * The model
 * =========
 *
 * Aging makes a new youngest generation. There is room for four; while all four
 * exist, inc_max_seq() first folds the oldest into the second oldest, for file
 * and for anonymous folios each, zone by zone:
 *
 *	      min_seq       min_seq+1     max_seq-1      max_seq     new
 *	    +---------+   +-----------+  +----------+  +---------+  + - - - +
 *	    | oldest  |-->|  second   |  |          |  |         |
 *	    +---------+   +-----------+  +----------+  +---------+  + - - - +
 *		 |	inactive                     active
 *		 +------------------------------------> promoted: its own list
 *
 * That is done in inc_min_seq(), which is inlined there, a folio at a time from
 * the cold end (the tail) of the list: give the folio the next generation's
 * number, move it to the tail of that generation's list, account its size. It is
 * three quarters of what an aging costs when there is much to fold, and it turns
 * the order around: the coldest folio ends up ahead of all that were folded with
 * it. It also sends a folio that the page table walk has promoted, and that only
 * had not been moved to its new list yet, to the cold end of that list, behind
 * what nobody has accessed.
 *
 * Batched aging does the same work ahead of the original, which then finds the
 * oldest lists empty, and is left with its control positions, min_seq and the
 * new generation:
 *
 *  - A list is swept from its hot end to its cold end. Per folio there is one
 *    cmpxchg of the flags; what lies between two promoted folios is moved as one
 *    run, to the tail of the second oldest generation. So the order stays, and
 *    those who were there stay ahead. (What is added to the oldest generation
 *    between two holds of the lock is swept by the next, or folded by the
 *    original, behind those that were there before.)
 *  - Promoted folios go to the head of their generation, as sort_folio() puts
 *    those that reclaim comes across; those of one sweep in their order. (Of two
 *    sweeps the colder one's end up ahead. All have just been accessed.)
 *  - Sizes are accounted once a sweep. While all four generations exist, the
 *    two oldest are both inactive: nothing changes but nr_pages[] of the two.
 *    The size of a promoted folio is the page table walk's to account.
 *
 * What must be as in inc_min_seq(), and is: one hold of the lruvec lock sees at
 * most MAX_LRU_BATCH folios (there it is as many for each type); file folios are
 * left alone if only anonymous memory is to be reclaimed, and the reverse; the
 * access counts are cleared; lrugen->protected[] counts what was kept although
 * reclaim could have had it, by tier, less the workingset that is promoted
 * lazily. The original also counts promoted folios there; sort_folio() does not,
 * nor do we.
 *
 * Between two holds, and between the last and the original, anything may happen:
 * somebody may add folios to the oldest generation, reclaim from it, age, find
 * it empty and move min_seq on. So each hold looks at everything anew, and what
 * appears behind our back the original folds in its own way: a few folios.
 *
 * A page table walk takes no lruvec lock. It changes the generation in the flags
 * of a folio at any time, and accounts later; hence the cmpxchg.
 */
#include <linux/prefetch.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/swap.h>

#include "aging.h"
#include "memcg.h"

#if MGLRU_HAVE_FOLD

static bool mglru_no_inc_max_seq(struct lruvec *lruvec, unsigned long seq, int swappiness)
{
	return false;
}

DEFINE_STATIC_CALL(mglru_orig_inc_max_seq, mglru_no_inc_max_seq);

static DEFINE_PER_CPU(long, mglru_aging_in_flight);

/* What one hold of the lruvec lock has moved, in folios. */
struct mglru_folded {
	unsigned int folded;
	unsigned int promoted;
};

/* A sweep over the list of one type and zone. */
struct mglru_sweep {
	unsigned long from;	/* LRU_GEN_MASK part of the flags */
	unsigned long to;
	unsigned long pages;	/* folded */
	unsigned long kept[MAX_NR_TIERS];	/* of those, to be counted as protected */
	unsigned int odd;	/* folios that mglru_sweep_odd() folded */
	unsigned int promoted;
};

/*
 * What most folios that have grown old have not: accesses since they were last
 * folded, and more than one page.
 */
#define MGLRU_ODD	(LRU_REFS_FLAGS | BIT(PG_head))

static int mglru_gen_of(unsigned long flags)
{
	return ((flags & LRU_GEN_MASK) >> LRU_GEN_PGOFF) - 1;
}

/*
 * Fold any folio, as folio_inc_gen() and inc_min_seq() do. False if
 * folio_update_gen() has promoted it.
 */
static noinline bool mglru_sweep_odd(struct mglru_sweep *sweep, struct folio *folio)
{
	unsigned long new_flags, old_flags = READ_ONCE(*mglru_flags(folio));
	unsigned long nr = folio_nr_pages(folio);
	bool workingset;
	int refs = 0;

	do {
		if ((old_flags & LRU_GEN_MASK) != sweep->from)
			return false;
		new_flags = old_flags & ~(LRU_GEN_MASK | LRU_REFS_FLAGS);
		new_flags |= sweep->to;
	} while (!try_cmpxchg(mglru_flags(folio), &old_flags, new_flags));

	/* folio_lru_refs(), of the flags as they were */
	if (old_flags & BIT(PG_referenced))
		refs = ((old_flags & LRU_REFS_MASK) >> LRU_REFS_PGOFF) + 1;
	workingset = old_flags & BIT(PG_workingset);
	/* Not the workingset being lazily promoted. */
	if (refs + workingset != BIT(LRU_REFS_WIDTH) + 1)
		sweep->kept[lru_tier_from_refs(refs, workingset)] += nr;
	sweep->pages += nr;
	sweep->odd++;
	return true;
}

/* Move a folio that has been promoted to where its flags say. */
static noinline void mglru_sweep_promoted(struct mglru_sweep *sweep, struct folio *folio,
					  struct list_head *promoted)
{
	int gen = folio_lru_gen(folio);

	/* What is on a list has a generation. */
	if (WARN_ON_ONCE((unsigned int)gen >= MAX_NR_GENS))
		gen = mglru_gen_of(sweep->to);
	list_move_tail(&folio->lru, &promoted[gen]);
	sweep->promoted++;
}

static void mglru_sweep_account(struct lru_gen_folio *lrugen, int type, int zone,
				const struct mglru_sweep *sweep)
{
	int hist = lru_hist_from_seq(lrugen->min_seq[type]);
	int from = mglru_gen_of(sweep->from), to = mglru_gen_of(sweep->to);
	int tier;

	WRITE_ONCE(lrugen->nr_pages[from][type][zone],
		   lrugen->nr_pages[from][type][zone] - sweep->pages);
	WRITE_ONCE(lrugen->nr_pages[to][type][zone],
		   lrugen->nr_pages[to][type][zone] + sweep->pages);
	for (tier = 0; tier < MAX_NR_TIERS; tier++)
		if (sweep->kept[tier])
			WRITE_ONCE(lrugen->protected[hist][type][tier],
				   lrugen->protected[hist][type][tier] + sweep->kept[tier]);
}

/*
 * Sweep the oldest generation of one type and zone, at most @budget folios.
 *
 * Context: the lruvec lock is held.
 * Return: what is left of @budget.
 */
static unsigned int mglru_fold_zone(struct lruvec *lruvec, int type, int zone,
				    unsigned int budget, struct mglru_folded *sum)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	int gen = lru_gen_from_seq(lrugen->min_seq[type]);
	int next_gen = lru_gen_from_seq(lrugen->min_seq[type] + 1);
	struct list_head *head = &lrugen->folios[gen][type][zone];
	struct list_head *tail = &lrugen->folios[next_gen][type][zone];
	struct list_head *pos, *next, promoted[MAX_NR_GENS];
	struct mglru_sweep sweep = {
		.from = (gen + 1UL) << LRU_GEN_PGOFF,
		.to = (next_gen + 1UL) << LRU_GEN_PGOFF,
	};
	const unsigned long from = sweep.from, change = sweep.from ^ sweep.to;
	unsigned long flags, plain, workingset = 0;
	unsigned int left;
	int i;

	for (i = 0; i < MAX_NR_GENS; i++)
		INIT_LIST_HEAD(&promoted[i]);

	/* The run that is not yet moved is what lies between head and pos. */
	for (pos = head->next, left = budget; pos != head && left; pos = next, left--) {
		struct folio *folio = list_entry(pos, struct folio, lru);

		next = pos->next;
		prefetchw(&list_entry(next, struct folio, lru)->flags);

		flags = READ_ONCE(*mglru_flags(folio));
		if (likely((flags & (LRU_GEN_MASK | MGLRU_ODD)) == from) &&
		    likely(try_cmpxchg(mglru_flags(folio), &flags, flags ^ change))) {
			workingset += (flags >> PG_workingset) & 1;
			continue;
		}
		if (mglru_sweep_odd(&sweep, folio))
			continue;
		if (pos->prev != head)
			list_bulk_move_tail(tail, head->next, pos->prev);
		mglru_sweep_promoted(&sweep, folio, promoted);
	}
	if (pos->prev != head)
		list_bulk_move_tail(tail, head->next, pos->prev);
	for (i = 0; i < MAX_NR_GENS; i++)
		list_splice(&promoted[i], &lrugen->folios[i][type][zone]);

	plain = budget - left - sweep.odd - sweep.promoted;
	sweep.pages += plain;
	sweep.kept[lru_tier_from_refs(0, false)] += plain - workingset;
	sweep.kept[lru_tier_from_refs(0, true)] += workingset;
	mglru_sweep_account(lrugen, type, zone, &sweep);
	sum->folded += plain + sweep.odd;
	sum->promoted += sweep.promoted;
	return left;
}

/* Does inc_min_seq() move min_seq on without folding? */
static bool mglru_fold_skips(int type, int swappiness)
{
	return type == LRU_GEN_FILE ? swappiness > MAX_SWAPPINESS : !swappiness;
}

/*
 * Fold as much as one hold of the lruvec lock may.
 * Return: whether there may be more.
 */
static bool mglru_fold_some(struct lruvec *lruvec, unsigned long seq, int swappiness,
			    struct mglru_folded *sum)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned int budget = MAX_LRU_BATCH;
	int type, zone;

	rcu_read_lock();
	spin_lock_irq(&lruvec->lru_lock);
	/* Another task may have made the generation. */
	for (type = 0; type < ANON_AND_FILE && seq == lrugen->max_seq; type++) {
		if (lrugen->max_seq - lrugen->min_seq[type] + 1 != MAX_NR_GENS ||
		    mglru_fold_skips(type, swappiness))
			continue;
		for (zone = 0; zone < MAX_NR_ZONES && budget; zone++)
			if (!list_empty(&lrugen->folios[lru_gen_from_seq(lrugen->min_seq[type])]
						       [type][zone]))
				budget = mglru_fold_zone(lruvec, type, zone, budget, sum);
	}
	spin_unlock_irq(&lruvec->lru_lock);
	rcu_read_unlock();
	return !budget;
}

static unsigned long mglru_aging_slot(struct lruvec *lruvec)
{
	struct mem_cgroup *memcg = lruvec_memcg(lruvec);
	unsigned long slot = memcg ? mglru_slot_of(memcg) : 0;

	return mglru_slot_policy(slot) & MGLRU_AGING_BATCHED ? slot : 0;
}

static void mglru_aging_count(struct lruvec *lruvec, const struct mglru_folded *sum)
{
	struct mglru_counters __percpu *counters;
	unsigned long slot;

	rcu_read_lock();
	slot = mglru_aging_slot(lruvec);
	if (slot) {
		counters = mglru_slot_state(slot)->counters;
		mglru_count(counters, MGLRU_STAT_AGING_BATCHED);
		mglru_count_many(counters, MGLRU_STAT_AGING_FOLDED, sum->folded);
		mglru_count_many(counters, MGLRU_STAT_AGING_PROMOTED, sum->promoted);
	}
	rcu_read_unlock();
}

/*
 * Stands in for inc_max_seq().
 *
 * Context: as inc_max_seq(): process context, preemptible; the caller keeps the
 * lruvec's memcg. Takes the lruvec lock; cond_resched() is why calls are counted,
 * see mglru_hook_enter().
 */
static bool mglru_inc_max_seq(struct lruvec *lruvec, unsigned long seq, int swappiness)
{
	struct mglru_folded sum = {};
	bool ret;

	mglru_hook_enter(&mglru_aging_in_flight);
	while (mglru_fold_some(lruvec, seq, swappiness, &sum))
		cond_resched();
	if (sum.folded + sum.promoted)
		mglru_aging_count(lruvec, &sum);
	ret = static_call(mglru_orig_inc_max_seq)(lruvec, seq, swappiness);
	mglru_hook_leave(&mglru_aging_in_flight);
	return ret;
}

static void notrace mglru_aging_handler(unsigned long ip, unsigned long parent_ip,
					struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct lruvec *lruvec = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	rcu_read_lock();
	slot = mglru_aging_slot(lruvec);
	rcu_read_unlock();
	if (slot)
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_inc_max_seq);
}

static void mglru_aim_aging(void *past)
{
	static_call_update(mglru_orig_inc_max_seq,
			   (bool (*)(struct lruvec *, unsigned long, int))past);
}

struct mglru_hook mglru_hook_aging =
	MGLRU_HOOK_REDIRECT("inc_max_seq", mglru_aging_handler, mglru_aim_aging,
			    mglru_aging_in_flight);

#else

/* Never looked for, see mglru_policy_hooks(). */
struct mglru_hook mglru_hook_aging = { .func = "inc_max_seq" };

#endif
