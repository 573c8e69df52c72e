/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The arithmetic of readahead_credit. What it is for is told in
 * module/credit.c; here is plain C without kernel calls, so that tests/unit can
 * run it in user space, from several threads too.
 *
 * Credit is counted in pages. A pool, one for each memory cgroup and node, is a
 * single word, so that fading, earning and taking are each one atomic step:
 *
 *	 63          40 39                                    0
 *	+--------------+---------------------------------------+
 *	| generation   | pages                                 |
 *	+--------------+---------------------------------------+
 *
 * The generation is the low end of the max_seq up to which the pages have faded.
 * A pocket, one for each memory cgroup and CPU, holds a little of it and is
 * changed by its CPU alone.
 *
 * Nothing is created: what a pool is given was earned. Nothing is lost but what
 * is reported as expired: the cap, the fading, and what is reset.
 */
#ifndef MGLRU_CREDIT_H
#define MGLRU_CREDIT_H

#ifdef __KERNEL__
#include <linux/atomic.h>
#include <linux/compiler.h>
#define mglru_word_read(word)		READ_ONCE(*(word))
#define mglru_word_try(word, old, new)	try_cmpxchg(word, old, new)
#else
#include <stdbool.h>
#define mglru_word_read(word)		__atomic_load_n(word, __ATOMIC_RELAXED)
#define mglru_word_try(word, old, new)	\
	__atomic_compare_exchange_n(word, old, new, false, __ATOMIC_SEQ_CST, __ATOMIC_RELAXED)
#endif

#define MGLRU_POOL_SHIFT	40
#define MGLRU_POOL_MAX		((1UL << MGLRU_POOL_SHIFT) - 1)	/* 4 PiB in 4k pages */
#define MGLRU_GEN_MASK		((1UL << (64 - MGLRU_POOL_SHIFT)) - 1)

#define mglru_pool_pages(word)	((word) & MGLRU_POOL_MAX)
#define mglru_pool_gen(word)	((word) >> MGLRU_POOL_SHIFT)

static inline unsigned long mglru_pool_word(unsigned long gen, unsigned long pages)
{
	return (gen & MGLRU_GEN_MASK) << MGLRU_POOL_SHIFT | pages;
}

/**
 * mglru_credit_gens - how many generations have come since
 * @from: the generation up to which something has faded
 * @to: the youngest generation; only the low 24 bits of both count
 *
 * Return: their number; 0 if @to is older, as read by one who was overtaken.
 */
static inline unsigned long mglru_credit_gens(unsigned long from, unsigned long to)
{
	unsigned long gens = (to - from) & MGLRU_GEN_MASK;

	return gens > MGLRU_GEN_MASK / 2 ? 0 : gens;
}

/**
 * mglru_credit_fade - what is left of credit after some generations
 * @pages: the credit, at most MGLRU_POOL_MAX
 * @gens: how many new generations there have been
 *
 * Three quarters with each, rounded down, as in the kernel patch that the
 * policy is taken from: a single page is gone with the first, the largest pool
 * after a hundred.
 */
static inline unsigned long mglru_credit_fade(unsigned long pages, unsigned long gens)
{
	while (pages && gens--)
		pages = pages * 3 / 4;
	return pages;
}

/**
 * mglru_pool_add - put credit into a pool
 * @word: the pool
 * @gen: the youngest generation
 * @pages: how many
 * @cap: what the pool may hold afterwards; if it holds more already, nothing is
 *	added and nothing taken
 *
 * Return: how many pages have expired: of those added, for want of room, and of
 * the former ones, by fading.
 */
static inline unsigned long mglru_pool_add(unsigned long *word, unsigned long gen,
					   unsigned long pages, unsigned long cap)
{
	unsigned long old = mglru_word_read(word), new, had, left, gens, room;

	if (cap > MGLRU_POOL_MAX)
		cap = MGLRU_POOL_MAX;
	do {
		had = mglru_pool_pages(old);
		gens = mglru_credit_gens(mglru_pool_gen(old), gen);
		left = mglru_credit_fade(had, gens);
		room = left < cap ? cap - left : 0;
		if (room > pages)
			room = pages;
		/* In an empty pool nothing has faded, whatever generation it names. */
		new = mglru_pool_word(had ? mglru_pool_gen(old) + gens : gen, left + room);
	} while (!mglru_word_try(word, &old, new));
	return had - left + pages - room;
}

/**
 * mglru_pool_take - take credit out of a pool
 * @word: the pool
 * @gen: the youngest generation
 * @least: if it holds less, take nothing
 * @most: how many pages to take if there are as many; not less than @least
 * @expired: increased by what faded
 *
 * Writes nothing if nothing changes: an empty pool stays shared in all caches.
 *
 * Return: how many pages were taken.
 */
static inline unsigned long mglru_pool_take(unsigned long *word, unsigned long gen,
					    unsigned long least, unsigned long most,
					    unsigned long *expired)
{
	unsigned long old = mglru_word_read(word), new, had, left, gens, taken;

	do {
		had = mglru_pool_pages(old);
		gens = mglru_credit_gens(mglru_pool_gen(old), gen);
		left = mglru_credit_fade(had, gens);
		taken = left < most ? left : most;
		if (taken < least)
			taken = 0;
		if (!had)
			return 0;
		new = mglru_pool_word(mglru_pool_gen(old) + gens, left - taken);
	} while (new != old && !mglru_word_try(word, &old, new));
	*expired += had - left;
	return taken;
}

/**
 * struct mglru_pocket - credit at hand on one CPU, of one memory cgroup
 * @pages: how many, at most what mglru_pocket_spend() is told
 * @node: whose pool they are from
 * @gen: up to which generation they have faded
 * @life: of which life they are; void if the cgroup's credit was reset since
 */
struct mglru_pocket {
	unsigned int pages;
	unsigned int node;
	unsigned long gen;
	unsigned long life;
};

/* What mglru_pocket_spend() has to report. */
struct mglru_spending {
	unsigned long expired;
	bool hit;		/* the pocket had enough */
	bool refill;		/* something was taken from the pool */
};

/**
 * mglru_pocket_spend - pay for a folio
 * @pocket: of this CPU; nobody else changes it meanwhile
 * @pools: of the memory cgroup, @stride words apart, indexed by node
 * @stride: see @pools
 * @node: the folio's
 * @gen: the youngest generation of that node
 * @life: of the memory cgroup's credit
 * @pages: of the folio
 * @size: of the pocket
 * @done: set to what happened
 *
 * A pocket that holds credit of another node gives it back. A folio larger than
 * the pocket is paid from the pool, whole or not at all.
 *
 * Return: is the folio paid for?
 */
static inline bool mglru_pocket_spend(struct mglru_pocket *pocket, unsigned long *pools,
				      unsigned long stride, unsigned int node,
				      unsigned long gen, unsigned long life,
				      unsigned long pages, unsigned long size,
				      struct mglru_spending *done)
{
	unsigned long left = pocket->pages, got = 0;
	bool paid;

	*done = (struct mglru_spending){ 0 };
	if (left && pocket->life != life) {
		done->expired += left;
		left = 0;
	}
	if (left && pocket->node != node) {
		/* That has its own generations: fade nothing but with the pool. */
		unsigned long *pool = &pools[pocket->node * stride];
		unsigned long now = mglru_pool_gen(mglru_word_read(pool));
		unsigned long kept = mglru_credit_fade(left, mglru_credit_gens(pocket->gen, now));

		done->expired += left - kept;
		done->expired += mglru_pool_add(pool, now, kept, MGLRU_POOL_MAX);
		left = 0;
	}
	if (left) {
		unsigned long kept = mglru_credit_fade(left, mglru_credit_gens(pocket->gen, gen));

		done->expired += left - kept;
		left = kept;
	}

	if (pages > size) {
		paid = mglru_pool_take(&pools[node * stride], gen, pages, pages,
				       &done->expired) == pages;
	} else {
		done->hit = left >= pages;
		if (!done->hit) {
			got = mglru_pool_take(&pools[node * stride], gen, 0, size - left,
					      &done->expired);
			done->refill = got;
			left += got;
		}
		paid = left >= pages;
		if (paid)
			left -= pages;
	}

	if (left || pocket->pages) {
		pocket->pages = left;
		pocket->node = node;
		pocket->gen = gen;
		pocket->life = life;
	}
	return paid;
}

#endif /* MGLRU_CREDIT_H */
