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
 * The generation is the low end of the max_seq at which something was earned
 * or taken last; fading moves it on. A pocket, one for each memory cgroup and CPU,
 * has such a word for each node too, which holds a little of the credit and is
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
#define mglru_word_write(word, new)	WRITE_ONCE(*(word), new)
#define mglru_word_try(word, old, new)	try_cmpxchg(word, old, new)
#else
#include <stdbool.h>
#define mglru_word_read(word)		__atomic_load_n(word, __ATOMIC_RELAXED)
#define mglru_word_write(word, new)	__atomic_store_n(word, new, __ATOMIC_RELAXED)
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
 * @from: a generation
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
 * mglru_credit_quiet - how many generations have passed without any use
 * @last: the one in which something was earned or taken
 * @now: the youngest generation
 *
 * Return: the number of those between the two.
 */
static inline unsigned long mglru_credit_quiet(unsigned long last, unsigned long now)
{
	unsigned long gens = mglru_credit_gens(last, now);

	return gens ? gens - 1 : 0;
}

/**
 * mglru_credit_fade - what is left of credit after some quiet generations
 * @pages: the credit, at most MGLRU_POOL_MAX
 * @gens: how many
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
 * mglru_pool_add - put credit that was earned into a pool
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
		left = mglru_credit_fade(had, mglru_credit_quiet(mglru_pool_gen(old), gen));
		room = left < cap ? cap - left : 0;
		if (room > pages)
			room = pages;
		/* An empty pool may name any generation. */
		new = mglru_pool_word(had ? mglru_pool_gen(old) + gens : gen, left + room);
		/* A full pool stays shared in all caches. */
	} while (new != old && !mglru_word_try(word, &old, new));
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
		gens = mglru_credit_quiet(mglru_pool_gen(old), gen);
		left = mglru_credit_fade(had, gens);
		taken = left < most ? left : most;
		if (taken < least)
			taken = 0;
		if (!had)
			return 0;
		if (taken)
			gens = mglru_credit_gens(mglru_pool_gen(old), gen);
		new = mglru_pool_word(mglru_pool_gen(old) + gens, left - taken);
	} while (new != old && !mglru_word_try(word, &old, new));
	*expired += had - left;
	return taken;
}

/**
 * struct mglru_pocket - credit at hand on one CPU, of one memory cgroup
 * @life: of which life it is; void if the cgroup's credit was reset since
 * @file: a hit on read-ahead was seen last in this one; an address to compare
 *	with, of what may be gone since
 * @proven: for how many pages of it hits still answer
 * @held: for each node, a word like a pool's: the generation in which it was
 *	used last, and the pages, at most what mglru_pocket_spend() is told
 */
struct mglru_pocket {
	unsigned long life;
	const void *file;
	unsigned long proven;
	unsigned long held[];
};

/* A folio to be paid for. */
struct mglru_purchase {
	const void *file;
	unsigned long pages;
	unsigned int node;
	unsigned long gen;	/* the youngest one of that node */

	/* What happened. */
	unsigned long expired;
	bool unproven;		/* no hit answers for it */
	bool hit;		/* the pocket had enough */
	bool refill;		/* something was taken from the pool */
};

/**
 * mglru_pocket_open - void a pocket that is of a former life
 * @pocket: of this CPU; nobody else changes it meanwhile
 * @nodes: how many words it has
 * @life: of the memory cgroup's credit
 *
 * Return: how many pages have expired with it.
 */
static inline unsigned long mglru_pocket_open(struct mglru_pocket *pocket, unsigned int nodes,
					      unsigned long life)
{
	unsigned long expired = 0;
	unsigned int node;

	if (pocket->life == life)
		return 0;
	for (node = 0; node < nodes; node++) {
		expired += mglru_pool_pages(pocket->held[node]);
		mglru_word_write(&pocket->held[node], 0);
	}
	pocket->proven = 0;
	mglru_word_write(&pocket->life, life);
	return expired;
}

/**
 * mglru_pocket_prove - read-ahead was seen to be used
 * @pocket: as above, opened
 * @file: which file's
 * @pages: for how many pages this answers
 * @room: what adds up for one file is at most that, or @pages if that is more
 */
static inline void mglru_pocket_prove(struct mglru_pocket *pocket, const void *file,
				      unsigned long pages, unsigned long room)
{
	unsigned long proven = pages;

	if (pocket->file == file)
		proven += pocket->proven;
	if (room < pages)
		room = pages;
	pocket->file = file;
	pocket->proven = proven < room ? proven : room;
}

/**
 * mglru_pocket_spend - pay for a folio
 * @pocket: as above, opened
 * @pool: of the folio's node
 * @size: how many pages of credit the pocket holds at most for a node
 * @buy: the folio; what happened is put there
 *
 * Only proven pages are paid for; paid for or not, they are then no longer proven. A
 * folio larger than the pocket is paid from the pool, whole or not at all.
 *
 * Return: is the folio paid for?
 */
static inline bool mglru_pocket_spend(struct mglru_pocket *pocket, unsigned long *pool,
				      unsigned long size, struct mglru_purchase *buy)
{
	unsigned long *held = &pocket->held[buy->node];
	unsigned long had = mglru_pool_pages(*held), gen = mglru_pool_gen(*held), left, got;
	bool paid;

	buy->expired = 0;
	buy->hit = false;
	buy->refill = false;
	buy->unproven = pocket->file != buy->file || pocket->proven < buy->pages;
	if (buy->unproven)
		return false;
	pocket->proven -= buy->pages;

	left = mglru_credit_fade(had, mglru_credit_quiet(gen, buy->gen));
	buy->expired = had - left;
	/* Forward only: whoever asks may have been overtaken. */
	if (!left || mglru_credit_gens(gen, buy->gen))
		gen = buy->gen;

	if (buy->pages > size) {
		paid = mglru_pool_take(pool, buy->gen, buy->pages, buy->pages, &buy->expired);
	} else {
		buy->hit = left >= buy->pages;
		if (!buy->hit) {
			got = mglru_pool_take(pool, buy->gen, 0, size - left, &buy->expired);
			buy->refill = got;
			left += got;
		}
		paid = left >= buy->pages;
		if (paid)
			left -= buy->pages;
	}
	mglru_word_write(held, mglru_pool_word(gen, left));
	return paid;
}

#endif /* MGLRU_CREDIT_H */
