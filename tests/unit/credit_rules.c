// SPDX-License-Identifier: GPL-2.0-only
/*
 * The arithmetic of include/mglru_credit.h: caps, saturation, fading over many
 * generations, pockets, and threads that earn and spend at once. KTAP.
 *
 * Pools are checked against a plain model, which keeps pages and generation in
 * variables of its own and knows nothing of words.
 */
#include <limits.h>
#include <pthread.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>

#include "mglru_credit.h"

#define WINDOW	32UL
#define SIZE	(2 * WINDOW)
#define ROOM	(8 * WINDOW)
#define THE_FILE	((const void *)1)
#define NODES	2
#define STRIDE	8
#define GENS	(MGLRU_GEN_MASK + 1)
#define ARRAY_SIZE(a)	(sizeof(a) / sizeof((a)[0]))
#define __aligned(n)	__attribute__((aligned(n)))

static int number, failed;

static void result(bool good, const char *what)
{
	printf("%sok %d %s\n", good ? "" : "not ", ++number, what);
	failed |= !good;
}

#define CHECK(cond)							\
do {									\
	if (!(cond)) {							\
		printf("# line %d: %s\n", __LINE__, #cond);		\
		return false;						\
	}								\
} while (0)

#define word_of(gen, pages)	mglru_pool_word(gen, pages)

static bool fades_to_three_quarters(void)
{
	unsigned long pages, gens;

	CHECK(mglru_credit_fade(1000, 0) == 1000);
	CHECK(mglru_credit_fade(1000, 1) == 750);
	CHECK(mglru_credit_fade(1000, 2) == 562);
	CHECK(mglru_credit_fade(3, 1) == 2 && mglru_credit_fade(2, 1) == 1);
	CHECK(mglru_credit_fade(1, 1) == 0 && mglru_credit_fade(0, 5) == 0);
	CHECK(mglru_credit_fade(MGLRU_POOL_MAX, 1) == MGLRU_POOL_MAX / 4 * 3 + 2);
	CHECK(mglru_credit_fade(MGLRU_POOL_MAX, 100) == 0);
	CHECK(mglru_credit_fade(MGLRU_POOL_MAX, ULONG_MAX) == 0);
	/* In steps or at once; thousands of generations. */
	for (pages = MGLRU_POOL_MAX, gens = 0; gens < 10000; gens++) {
		CHECK(pages == mglru_credit_fade(MGLRU_POOL_MAX, gens));
		CHECK(mglru_credit_fade(pages, 1) < pages || !pages);
		pages = mglru_credit_fade(pages, 1);
	}
	return true;
}

static bool generations_wrap(void)
{
	CHECK(mglru_credit_gens(5, 5) == 0 && mglru_credit_gens(5, 8) == 3);
	CHECK(mglru_credit_gens(GENS - 1, GENS) == 1);
	CHECK(mglru_credit_gens(GENS - 2, 3) == 5);
	CHECK(mglru_credit_gens(ULONG_MAX, 0) == 1);
	/* One who was overtaken. */
	CHECK(mglru_credit_gens(8, 5) == 0 && mglru_credit_gens(0, GENS - 1) == 0);
	CHECK(mglru_credit_gens(0, GENS / 2 - 1) == GENS / 2 - 1);
	CHECK(mglru_credit_gens(0, GENS / 2) == 0);
	/* Between the last earning and now. */
	CHECK(mglru_credit_quiet(5, 5) == 0 && mglru_credit_quiet(5, 6) == 0);
	CHECK(mglru_credit_quiet(5, 7) == 1 && mglru_credit_quiet(GENS - 1, 4) == 4);
	CHECK(mglru_credit_quiet(8, 5) == 0);
	return true;
}

static bool adds_up_to_the_cap(void)
{
	unsigned long word = 0;

	CHECK(mglru_pool_add(&word, 7, 32, 100) == 0 && word == word_of(7, 32));
	CHECK(mglru_pool_add(&word, 7, 32, 100) == 0 && word == word_of(7, 64));
	CHECK(mglru_pool_add(&word, 7, 64, 100) == 28 && word == word_of(7, 100));
	/* The lruvec has shrunk: nothing is added, nothing is taken. */
	CHECK(mglru_pool_add(&word, 7, 32, 50) == 32 && word == word_of(7, 100));
	CHECK(mglru_pool_add(&word, 7, 32, 0) == 32 && word == word_of(7, 100));
	/* A quiet generation, one seen late, and two without a quiet one between. */
	CHECK(mglru_pool_add(&word, 9, 10, 100) == 25 && word == word_of(9, 85));
	CHECK(mglru_pool_add(&word, 8, 10, 100) == 0 && word == word_of(9, 95));
	CHECK(mglru_pool_add(&word, 10, 3, 100) == 0 && word == word_of(10, 98));
	CHECK(mglru_pool_add(&word, 12, 100, 100) == 25 + 73 && word == word_of(12, 100));
	/* An empty pool begins with the generation that it is told. */
	word = 0;
	CHECK(mglru_pool_add(&word, GENS - 1, 32, 100) == 0 && word == word_of(GENS - 1, 32));
	CHECK(mglru_pool_add(&word, GENS + 1, 0, 100) == 8 && word == word_of(1, 24));
	return true;
}

static bool saturates(void)
{
	unsigned long word = word_of(3, MGLRU_POOL_MAX - 5), expired = 0;

	CHECK(mglru_pool_add(&word, 3, 32, ULONG_MAX) == 27 && word == word_of(3, MGLRU_POOL_MAX));
	CHECK(mglru_pool_add(&word, 3, ULONG_MAX, ULONG_MAX) == ULONG_MAX);
	CHECK(word == word_of(3, MGLRU_POOL_MAX));
	CHECK(mglru_pool_take(&word, 3, 0, ULONG_MAX, &expired) == MGLRU_POOL_MAX);
	CHECK(word == word_of(3, 0) && !expired);
	return true;
}

static bool takes_what_is_there(void)
{
	unsigned long word = word_of(7, 100), expired = 0;

	CHECK(mglru_pool_take(&word, 7, 0, 64, &expired) == 64 && word == word_of(7, 36));
	CHECK(mglru_pool_take(&word, 7, 0, 64, &expired) == 36 && word == word_of(7, 0));
	CHECK(mglru_pool_take(&word, 7, 0, 64, &expired) == 0 && word == word_of(7, 0));
	/* Empty: not even the generation is written. */
	CHECK(mglru_pool_take(&word, 9, 0, 64, &expired) == 0 && word == word_of(7, 0));
	CHECK(!expired);
	/* All or nothing, and fading all the same. */
	word = word_of(7, 100);
	CHECK(mglru_pool_take(&word, 8, 101, 101, &expired) == 0 && word == word_of(7, 100));
	CHECK(mglru_pool_take(&word, 9, 80, 80, &expired) == 0 && word == word_of(8, 75));
	/* In the same generation it fades once. */
	CHECK(mglru_pool_take(&word, 9, 70, 70, &expired) == 70 && word == word_of(9, 5));
	CHECK(expired == 25);
	/* What is taken keeps the rest from fading; one who was overtaken, too. */
	CHECK(mglru_pool_take(&word, 10, 0, 1, &expired) == 1 && word == word_of(10, 4));
	CHECK(mglru_pool_take(&word, 9, 0, 1, &expired) == 1 && word == word_of(10, 3));
	CHECK(mglru_pool_take(&word, 11, 0, 3, &expired) == 3 && expired == 25);
	return true;
}

/* A pool after a random life equals a plain model of it. */
static bool agrees_with_a_model(void)
{
	unsigned long word = 0, pages = 0, gen = GENS - 500, last = 0, expired = 0, lost = 0, i;

	srandom(1);
	for (i = 0; i < 1000000; i++) {
		unsigned long n = random() % 300, cap = random() % 2000, want;
		bool earn = random() & 1;

		if (random() % 50 == 0)
			gen += random() % 4;
		/* Every generation since the last use but the present one. */
		for (; pages && last + 1 < gen; last++) {
			lost += pages - pages * 3 / 4;
			pages = pages * 3 / 4;
		}
		if (earn) {
			expired += mglru_pool_add(&word, gen, n, cap);
			want = pages >= cap ? 0 : n < cap - pages ? n : cap - pages;
			pages += want;
			lost += n - want;
			last = gen;
		} else {
			want = pages < n ? pages : n;
			CHECK(mglru_pool_take(&word, gen, 0, n, &expired) == want);
			pages -= want;
			last = want ? gen : last;
		}
		CHECK(mglru_pool_pages(word) == pages && expired == lost);
	}
	return true;
}

struct account {
	unsigned long pools[NODES * STRIDE];
	unsigned long life;
	struct mglru_pocket pocket;
	unsigned long words[NODES];	/* of the pocket */
};

#define held_by(a, node)	mglru_pool_pages((a)->pocket.held[node])

static bool spend(struct account *a, unsigned int node, unsigned long gen, unsigned long pages,
		  struct mglru_purchase *buy)
{
	unsigned long expired = mglru_pocket_open(&a->pocket, NODES, a->life);
	bool paid;

	*buy = (struct mglru_purchase){ .file = THE_FILE, .pages = pages, .node = node,
					.gen = gen };
	paid = mglru_pocket_spend(&a->pocket, &a->pools[node * STRIDE], SIZE, buy);
	buy->expired += expired;
	return paid;
}

/* With proof enough. */
static bool spend_proven(struct account *a, unsigned int node, unsigned long gen,
			 unsigned long pages, struct mglru_purchase *buy)
{
	unsigned long expired = mglru_pocket_open(&a->pocket, NODES, a->life);
	bool paid;

	mglru_pocket_prove(&a->pocket, THE_FILE, 1000, ROOM);
	paid = spend(a, node, gen, pages, buy);
	buy->expired += expired;
	return paid;
}

static bool pocket_is_filled(void)
{
	struct account a = { .pools = { word_of(5, 100) } };
	struct mglru_purchase d;

	CHECK(spend_proven(&a, 0, 5, 1, &d) && d.refill && !d.hit && !d.expired);
	CHECK(held_by(&a, 0) == SIZE - 1 && mglru_pool_pages(a.pools[0]) == 100 - SIZE);
	CHECK(spend_proven(&a, 0, 5, 60, &d) && d.hit && !d.refill && held_by(&a, 0) == 3);
	/* Three and what is left in the pool. */
	CHECK(spend_proven(&a, 0, 5, 39, &d) && d.refill && held_by(&a, 0) == 0);
	CHECK(mglru_pool_pages(a.pools[0]) == 0);
	CHECK(!spend_proven(&a, 0, 5, 1, &d) && !d.hit && !d.refill && !d.expired);
	/* It never holds more than two windows. */
	a.pools[0] = word_of(5, 200);
	CHECK(spend_proven(&a, 0, 5, 34, &d) && held_by(&a, 0) == 30);
	CHECK(spend_proven(&a, 0, 5, 40, &d) && d.refill && held_by(&a, 0) == SIZE - 40);
	/* Just enough is enough. */
	CHECK(spend_proven(&a, 0, 5, SIZE - 40, &d) && d.hit && !d.refill && held_by(&a, 0) == 0);
	return true;
}

static bool denied_keeps_its_credit(void)
{
	struct account a = { .pools = { word_of(5, 10) } };
	struct mglru_purchase d;

	CHECK(!spend_proven(&a, 0, 5, 16, &d) && d.refill && held_by(&a, 0) == 10);
	CHECK(spend_proven(&a, 0, 5, 8, &d) && d.hit && held_by(&a, 0) == 2);
	return true;
}

static bool pocket_fades(void)
{
	struct account a = { .pools = { word_of(5, 64) } };
	struct mglru_purchase d;

	CHECK(spend_proven(&a, 0, 5, 24, &d) && held_by(&a, 0) == 40);
	CHECK(spend_proven(&a, 0, 6, 4, &d) && !d.expired && held_by(&a, 0) == 36);
	CHECK(spend_proven(&a, 0, 9, 10, &d) && d.expired == 16 && held_by(&a, 0) == 10);
	CHECK(mglru_pool_gen(a.pocket.held[0]) == 9);
	CHECK(!spend_proven(&a, 0, 1009, 1, &d) && d.expired == 10 && held_by(&a, 0) == 0);
	/* Generations do not pass for what is not there. */
	a.pools[0] = word_of(2000, 64);
	CHECK(spend_proven(&a, 0, 2000, 4, &d) && held_by(&a, 0) == 60 && !d.expired);
	/* An empty pocket begins with any generation. */
	a = (struct account){ .pools = { word_of(GENS - 1, 64) } };
	CHECK(spend_proven(&a, 0, GENS - 1, 4, &d) && mglru_pool_gen(a.pocket.held[0]) == GENS - 1);
	CHECK(spend_proven(&a, 0, GENS + 1, 1, &d) && d.expired == 15);
	return true;
}

static bool large_folio_pays_from_the_pool(void)
{
	struct account a = { .pools = { word_of(5, 600) } };
	struct mglru_purchase d;

	CHECK(spend_proven(&a, 0, 5, 512, &d) && !d.hit && !d.refill && held_by(&a, 0) == 0);
	CHECK(mglru_pool_pages(a.pools[0]) == 88);
	CHECK(!spend_proven(&a, 0, 5, 512, &d) && mglru_pool_pages(a.pools[0]) == 88);
	CHECK(spend_proven(&a, 0, 5, SIZE, &d) && d.refill && mglru_pool_pages(a.pools[0]) == 24);
	CHECK(!spend_proven(&a, 0, 5, SIZE + 1, &d) && mglru_pool_pages(a.pools[0]) == 24);
	return true;
}

static bool each_node_has_its_own(void)
{
	struct account a = { .pools = { [0] = word_of(5, 64), [STRIDE] = word_of(90, 64) } };
	struct mglru_purchase d;

	CHECK(spend_proven(&a, 0, 5, 4, &d) && held_by(&a, 0) == 60);
	CHECK(spend_proven(&a, 1, 90, 5, &d) && !d.expired);
	CHECK(held_by(&a, 0) == 60 && held_by(&a, 1) == 59);
	CHECK(a.pools[0] == word_of(5, 0) && a.pools[STRIDE] == word_of(90, 0));
	/* They fade each by its own generations. */
	CHECK(spend_proven(&a, 1, 92, 1, &d) && d.expired == 15 && held_by(&a, 1) == 43);
	CHECK(spend_proven(&a, 0, 5, 1, &d) && !d.expired && d.hit && held_by(&a, 0) == 59);
	/* One does not pay for the other. */
	CHECK(!spend_proven(&a, 1, 92, 44, &d) && held_by(&a, 0) == 59 && held_by(&a, 1) == 43);
	a.life++;
	CHECK(!spend_proven(&a, 1, 92, 1, &d) && d.expired == 59 + 43);
	return true;
}

static bool reset_voids_the_pocket(void)
{
	struct account a = { .pools = { word_of(5, 64) } };
	struct mglru_purchase d;

	CHECK(spend_proven(&a, 0, 5, 4, &d) && held_by(&a, 0) == 60);
	a.life++;
	CHECK(!spend_proven(&a, 0, 5, 4, &d) && d.expired == 60 && held_by(&a, 0) == 0);
	CHECK(!spend_proven(&a, 0, 5, 4, &d) && !d.expired);
	/* What is earned in the new life is good. */
	a.pools[0] = word_of(5, 64);
	CHECK(spend_proven(&a, 0, 5, 4, &d) && spend_proven(&a, 0, 5, 4, &d) && !d.expired);
	CHECK(held_by(&a, 0) == 56);
	return true;
}

/* Only as many pages as hits on read-ahead answer for. */
static bool folios_need_proof(void)
{
	struct account a = { .pools = { word_of(5, 4000) } };
	struct mglru_purchase d;
	int other;

	CHECK(!spend(&a, 0, 5, 1, &d) && d.unproven && !d.hit && !d.refill && !d.expired);
	CHECK(a.pools[0] == word_of(5, 4000));
	mglru_pocket_prove(&a.pocket, THE_FILE, 3, ROOM);
	CHECK(!spend(&a, 0, 5, 4, &d) && d.unproven && a.pocket.proven == 3);
	CHECK(spend(&a, 0, 5, 2, &d) && !d.unproven && a.pocket.proven == 1);
	CHECK(spend(&a, 0, 5, 1, &d) && !a.pocket.proven && !spend(&a, 0, 5, 1, &d));
	/* A hit in another file. */
	mglru_pocket_prove(&a.pocket, &other, 3, ROOM);
	CHECK(!spend(&a, 0, 5, 1, &d) && d.unproven && a.pocket.proven == 3);
	/* The last file counts; within it, hits add up. */
	mglru_pocket_prove(&a.pocket, THE_FILE, 20, ROOM);
	CHECK(a.pocket.proven == 20);
	mglru_pocket_prove(&a.pocket, THE_FILE, 10, ROOM);
	CHECK(a.pocket.proven == 30);
	mglru_pocket_prove(&a.pocket, THE_FILE, ROOM - 1, ROOM);
	CHECK(a.pocket.proven == ROOM);
	mglru_pocket_prove(&a.pocket, THE_FILE, 3 * ROOM, ROOM);
	CHECK(a.pocket.proven == 3 * ROOM);
	mglru_pocket_prove(&a.pocket, &other, 10, ROOM);
	mglru_pocket_prove(&a.pocket, THE_FILE, 10, ROOM);
	CHECK(a.pocket.proven == 10);
	/* Not paid for: the window goes by. */
	a.pools[0] = 0;
	a.pocket.held[0] = 0;
	CHECK(!spend(&a, 0, 5, 4, &d) && !d.unproven && a.pocket.proven == 6);
	/* A new life begins without. */
	a.life++;
	a.pools[0] = word_of(5, 10);
	CHECK(!spend(&a, 0, 5, 1, &d) && d.unproven && !a.pocket.proven);
	return true;
}

/* Two accounts that share a CPU: neither loses by the other's turn. */
static bool taking_turns_loses_nothing(void)
{
	struct account a[2] = {
		{ .pools = { word_of(5, 1000) } },
		{ .pools = { word_of(9, 1000) } },
	};
	unsigned long paid[2] = { 0 }, lost = 0, i;
	struct mglru_purchase d;

	for (i = 0; i < 10000; i++) {
		paid[i & 1] += spend_proven(&a[i & 1], 0, i & 1 ? 9 : 5, 1, &d);
		lost += d.expired;
	}
	CHECK(paid[0] == 1000 && paid[1] == 1000 && lost == 0);
	return true;
}

/*
 * Threads, each a CPU with a pocket, on one pool a node; some earn, all spend,
 * and the generations go on. In the end earned = balance + spent + expired.
 */
#define THREADS	8
#define ROUNDS	400000

static struct {
	unsigned long pools[NODES * STRIDE] __aligned(64);
	unsigned long gen;
} shared;

struct cpu {
	pthread_t thread;
	unsigned int seed;
	struct mglru_pocket pocket;
	unsigned long words[NODES];	/* of the pocket */
	unsigned long earned, spent, expired, over, unproven;
} __aligned(64);

#define CAP	5000UL

static void *run_cpu(void *arg)
{
	struct cpu *cpu = arg;
	unsigned int seed = cpu->seed;
	unsigned long i;

	for (i = 0; i < ROUNDS; i++) {
		unsigned int node = rand_r(&seed) % 16 == 0;
		unsigned long gen = __atomic_load_n(&shared.gen, __ATOMIC_RELAXED);
		unsigned long pages = 1UL << rand_r(&seed) % 9;
		struct mglru_purchase buy = { .file = THE_FILE, .pages = pages,
					      .node = node, .gen = gen };

		if (rand_r(&seed) % 1000 == 0)
			__atomic_fetch_add(&shared.gen, 1, __ATOMIC_RELAXED);
		if (rand_r(&seed) % 3 == 0) {
			cpu->earned += WINDOW;
			cpu->expired += mglru_pool_add(&shared.pools[node * STRIDE], gen,
						       WINDOW, CAP);
		}
		if (rand_r(&seed) % 2 == 0)
			mglru_pocket_prove(&cpu->pocket, THE_FILE, 512, ROOM);
		if (mglru_pocket_spend(&cpu->pocket, &shared.pools[node * STRIDE], SIZE, &buy))
			cpu->spent += pages;
		cpu->unproven += buy.unproven;
		cpu->expired += buy.expired;
		if (mglru_pool_pages(mglru_word_read(&shared.pools[node * STRIDE])) > CAP ||
		    held_by(cpu, node) > SIZE)
			cpu->over++;
	}
	return NULL;
}

static bool threads_create_and_lose_nothing(void)
{
	static struct cpu cpus[THREADS];
	unsigned long earned = 0, rest = 0, spent = 0, over = 0, unproven = 0;
	unsigned int i, node;

	shared.gen = GENS - 100;
	for (i = 0; i < THREADS; i++) {
		cpus[i].seed = i + 1;
		CHECK(!pthread_create(&cpus[i].thread, NULL, run_cpu, &cpus[i]));
	}
	for (i = 0; i < THREADS; i++)
		CHECK(!pthread_join(cpus[i].thread, NULL));
	for (i = 0; i < THREADS; i++) {
		earned += cpus[i].earned;
		spent += cpus[i].spent;
		over += cpus[i].over;
		unproven += cpus[i].unproven;
		rest += cpus[i].spent + cpus[i].expired;
		for (node = 0; node < NODES; node++)
			rest += held_by(&cpus[i], node);
	}
	for (i = 0; i < NODES; i++)
		rest += mglru_pool_pages(shared.pools[i * STRIDE]);
	if (earned != rest)
		printf("# earned %lu, accounted for %lu\n", earned, rest);
	CHECK(earned == rest);
	CHECK(!over);
	CHECK(spent > earned / 8 && unproven);
	return true;
}

int main(void)
{
	static const struct {
		const char *what;
		bool (*test)(void);
	} tests[] = {
		{ "credit fades to three quarters", fades_to_three_quarters },
		{ "generations wrap", generations_wrap },
		{ "a pool is filled up to its cap", adds_up_to_the_cap },
		{ "a pool saturates", saturates },
		{ "a pool gives what it has", takes_what_is_there },
		{ "a pool agrees with a plain model over a million steps", agrees_with_a_model },
		{ "a pocket is filled with two windows", pocket_is_filled },
		{ "what does not suffice stays in the pocket", denied_keeps_its_credit },
		{ "a pocket fades", pocket_fades },
		{ "a large folio pays from the pool", large_folio_pays_from_the_pool },
		{ "each node has its own credit in a pocket", each_node_has_its_own },
		{ "a reset voids a pocket", reset_voids_the_pocket },
		{ "folios need proof that read-ahead is used", folios_need_proof },
		{ "taking turns loses nothing", taking_turns_loses_nothing },
		{ "threads create and lose nothing", threads_create_and_lose_nothing },
	};
	unsigned int i, n = ARRAY_SIZE(tests);

	printf("KTAP version 1\n1..%u\n", n);
	for (i = 0; i < n; i++)
		result(tests[i].test(), tests[i].what);
	return failed;
}
