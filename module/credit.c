// SPDX-License-Identifier: GPL-2.0-only
/*
 * readahead_credit: protect what read-ahead brings as long as refaults show
 * that it was dropped too early.
 *
 * The rule, after "[RFC PATCH] mm/mglru: dynamically protect readahead fault
 * folios under refault pressure"
 * ======================================================================
 *
 * A memory cgroup has credit on each node, counted in pages.
 *
 *  - It earns: a file folio that comes back and that lru_gen_refault() counts
 *    as recent adds its pages times VM_READAHEAD_PAGES, the default window: it
 *    stands for a window that was dropped before it was used. Nothing is added
 *    to what is four times the lruvec's file pages, or more.
 *  - It spends: a file folio that is added in a fault and is not of the
 *    workingset already becomes active if its pages can be paid for and
 *    read-ahead was seen to be used; if not, it is placed as by mark_accessed_v3.
 *  - It fades: to three quarters with each generation in which nothing was put
 *    into its pool or taken out, so that credit which nobody renews is soon gone.
 *  - It is void when the cgroup's placement changes, and when the multi-gen LRU is
 *    found switched off, by a folio that is added or refaults, or by whoever
 *    reads mglru.stat. It dies with the cgroup's state, and as that is found by
 *    the memcg's address and id together (memcg.h), neither an id nor an
 *    address that is used again can spend it.
 *
 * Where the rule differs from the patch, and why
 * ==============================================
 *
 *  - Proof. A strided read over more than fits (workload A) brings 15 pages with
 *    each that it touches; they are evicted and refault in the next pass, and
 *    so earn credit to protect each other for ever: on 6.18, 40 700 refaults in
 *    passes 5 to 8. Refaults tell that something was dropped too early, but not
 *    that it would have been used. Whether read-ahead is used the kernel knows:
 *    it marks a folio in each window, and when that one is touched, the next
 *    window is read (page_cache_async_ra()). So such a hit in a fault proves
 *    four windows: the one that it brings, and others for what was lost all the
 *    same and is read again around misses (in workload C, 20M, on 7.3 one window a
 *    hit left 127 and 133 major faults, two 101 and 115, four 103; on 6.18 it made
 *    no clear difference). No page is protected that was not proven. Who strides
 *    hardly ever hits (unless the stride makes the kernel itself take it for a sequential
 *    reader), and spends next to nothing, however much credit there is. Hits count
 *    for their file alone, so that the start of a program, which reads its text
 *    through, answers for nobody else, and a CPU keeps in mind the last file only,
 *    with sixteen windows at most.
 *  - Fading. The patch fades with each generation. But as long as protection
 *    succeeds there are no refaults, and the credit fades away just because it
 *    works; then everything is evicted again until enough has been earned. So
 *    what is being used does not fade: spending it is limit enough.
 *  - The cap. The patch's is one times the file pages. Refaults come in bursts,
 *    and most of a burst was lost by it; four times lose nothing in workload C.
 *
 * Where it is kept
 * ================
 *
 * In a pool for each node, one word, see mglru_credit.h. A fault does not go
 * there: it pays from the pocket that its CPU has for this cgroup, which is
 * filled from the pool with up to two windows at a time. So faults move the
 * pool's line between CPUs once in 64 pages, and not at all while it is empty;
 * refaults, which wait for a disk anyhow, write it unless it is full. The
 * kernel patch has one pocket a CPU for all cgroups, and loses what is in it
 * whenever the CPU turns to another one; here each cgroup has its own, with
 * room for each node, and nothing is lost. What lies in pockets is at most 64
 * pages a CPU and node over the cap.
 *
 * Each page is in one place: earned = balance + spent + expired at rest. While
 * folios are added and mglru.stat is read, the sums are off by what happens
 * meanwhile.
 *
 * Which refaults are counted
 * ==========================
 *
 * The kernel's own lru_gen_test_recent() is asked, with the same arguments
 * that lru_gen_refault() gives it a moment later, and what it finds must be the
 * folio's own lruvec, as there. (folio_lruvec() cannot be used: it refers to
 * root_mem_cgroup, which was not exported before 7.x. But a folio that has a
 * memcg has that one's lruvec.) Between our question and the kernel's, a
 * generation may be made: then one may count what the other does not. RCU
 * keeps the memcgs. One that has gone offline has no slot and earns nothing;
 * from 7.2 on its folios are its parent's, whose lruvec the shadow of the child
 * does not name, so that the kernel does not count them either.
 *
 * 6.12 has inlined the function; there workingset_test_recent() answers for it,
 * and the shadow entry itself says whose it is. (The kernel counts what was
 * evicted from a cgroup that is gone for the root; there we do not.) Its
 * lru_gen_refault() puts every recent refault in a fault into the workingset, so
 * that all of them become active without credit.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/cpumask.h>
#include <linux/nodemask.h>
#include <linux/pagemap.h>
#include <linux/preempt.h>
#include <linux/slab.h>
#include <linux/static_call.h>

#include "credit.h"
#include "memcg.h"
#include "placement.h"
#include "policy.h"

#define MGLRU_CAP		4UL	/* times the file pages */
#define MGLRU_POCKET_PAGES	(2 * VM_READAHEAD_PAGES)
#define MGLRU_PROVEN_BY_HIT	4UL	/* windows */
#define MGLRU_PROVEN_PAGES	(16 * VM_READAHEAD_PAGES)
#define MGLRU_POOL_STRIDE	(sizeof(struct mglru_pool) / sizeof(unsigned long))

static_assert(sizeof(unsigned long) == 8 && offsetof(struct mglru_pool, word) == 0);
static_assert(MAX_NUMNODES <= UINT_MAX);

static bool mglru_never_recent(MGLRU_RECENT_PROTO)
{
	return false;
}

static void mglru_no_refault(struct folio *folio, void *shadow)
{
}

DEFINE_STATIC_CALL(mglru_test_recent, mglru_never_recent);
DEFINE_STATIC_CALL(mglru_orig_refault, mglru_no_refault);

static DEFINE_PER_CPU(long, mglru_refault_in_flight);

static bool mglru_recent_found __ro_after_init;

/**
 * mglru_credit_find - find what tells recent refaults from others
 *
 * Context: process context; at load, after mglru_hook_init().
 */
void __init mglru_credit_find(void)
{
	void *func = mglru_hook_data(MGLRU_RECENT_FUNC);

	if (!func)
		return;
	static_call_update(mglru_test_recent, (bool (*)(MGLRU_RECENT_PROTO))func);
	mglru_recent_found = true;
}

/**
 * mglru_credit_knows_recent - has it been found
 */
bool mglru_credit_knows_recent(void)
{
	return mglru_recent_found;
}

/**
 * mglru_credit_init - an account without credit
 * @credit: of a new state, zeroed
 *
 * Context: process context, may sleep.
 * Return: 0, or -ENOMEM with nothing to be freed.
 */
int mglru_credit_init(struct mglru_credit *credit)
{
	credit->pools = kcalloc(nr_node_ids, sizeof(*credit->pools), GFP_KERNEL);
	credit->pockets = __alloc_percpu(struct_size_t(struct mglru_pocket, held, nr_node_ids),
					 __alignof__(struct mglru_pocket));
	if (credit->pools && credit->pockets)
		return 0;
	mglru_credit_free(credit);
	return -ENOMEM;
}

/**
 * mglru_credit_free - close an account
 * @credit: nobody can find it any more; may be zeroed
 */
void mglru_credit_free(struct mglru_credit *credit)
{
	free_percpu(credit->pockets);
	kfree(credit->pools);
}

static struct lruvec *mglru_lruvec(struct mem_cgroup *memcg, int nid)
{
	return &memcg->nodeinfo[nid]->lruvec;
}

/* As lru_gen_refault() sees it. Context: RCU read side. */
static bool mglru_refault_counts(struct folio *folio, void *shadow, struct mem_cgroup *memcg)
{
	struct mglru_recent found = {};

	return static_call(mglru_test_recent)(MGLRU_RECENT_AS(shadow, &found)) &&
	       mglru_recent_is_of(shadow, &found, memcg, folio_nid(folio));
}

/* What the lruvec has of file pages; may be off a little, nobody is kept out. */
static unsigned long mglru_file_pages(struct lruvec *lruvec)
{
	long sum = 0;
	int gen, zone;

	for (gen = 0; gen < MAX_NR_GENS; gen++)
		for (zone = 0; zone < MAX_NR_ZONES; zone++)
			sum += READ_ONCE(lruvec->lrugen.nr_pages[gen][LRU_GEN_FILE][zone]);
	return max(sum, 0L);
}

static void mglru_credit_earn(struct mglru_memcg *state, struct folio *folio)
{
	struct lruvec *lruvec = mglru_lruvec(state->memcg, folio_nid(folio));
	unsigned long pages = folio_nr_pages(folio) * VM_READAHEAD_PAGES, expired;

	expired = mglru_pool_add(&state->credit.pools[folio_nid(folio)].word,
				 READ_ONCE(lruvec->lrugen.max_seq), pages,
				 MGLRU_CAP * mglru_file_pages(lruvec));
	/* After it, so that a reset in between leaves it to the next. */
	smp_mb();	/* pairs with xchg() in mglru_credit_reset() */
	if (!READ_ONCE(state->credit.used))
		WRITE_ONCE(state->credit.used, true);
	mglru_count_many(state->counters, MGLRU_STAT_CREDIT_EARNED, pages);
	if (expired)
		mglru_count_many(state->counters, MGLRU_STAT_CREDIT_EXPIRED, expired);
}

/**
 * mglru_credit_spend - pay for the protection of a folio
 * @state: of the folio's memory cgroup
 * @folio: a file folio that is being added
 *
 * Context: task context, RCU read side; takes no lock, does not sleep.
 * Return: is it paid for?
 */
bool mglru_credit_spend(struct mglru_memcg *state, struct folio *folio)
{
	int nid = folio_nid(folio);
	struct mglru_purchase buy = {
		.file = folio->mapping,
		.pages = folio_nr_pages(folio),
		.node = nid,
	};
	struct mglru_counters __percpu *counters = state->counters;
	struct mglru_pocket *pocket;
	unsigned long expired;
	enum mglru_stat stat;
	bool paid;

	/* The pocket is this task's for a moment: no interrupt adds in a fault. */
	preempt_disable();
	buy.gen = READ_ONCE(mglru_lruvec(state->memcg, nid)->lrugen.max_seq);
	pocket = this_cpu_ptr(state->credit.pockets);
	expired = mglru_pocket_open(pocket, nr_node_ids, atomic_long_read(&state->credit.life));
	paid = mglru_pocket_spend(pocket, &state->credit.pools[nid].word, MGLRU_POCKET_PAGES,
				  &buy);
	stat = paid ? MGLRU_STAT_CREDIT_SPENT :
	       buy.unproven ? MGLRU_STAT_CREDIT_UNPROVEN : MGLRU_STAT_CREDIT_DENIED;
	mglru_count_many(counters, stat, buy.pages);
	if (buy.hit)
		mglru_count(counters, MGLRU_STAT_POCKET_HITS);
	if (buy.refill)
		mglru_count(counters, MGLRU_STAT_POCKET_REFILLS);
	expired += buy.expired;
	if (expired)
		mglru_count_many(counters, MGLRU_STAT_CREDIT_EXPIRED, expired);
	preempt_enable();
	return paid;
}

/**
 * mglru_credit_reset - all credit of a memory cgroup expires
 * @state: its state
 *
 * Who is in the middle of earning may still put in what one folio is worth.
 *
 * Context: any; @state must be kept alive.
 */
void mglru_credit_reset(struct mglru_memcg *state)
{
	unsigned long pages = 0;
	int nid;

	/* While the multi-gen LRU is off, every fault comes here. */
	if (!READ_ONCE(state->credit.used))
		return;
	/* Pairs with smp_mb() in mglru_credit_earn(). */
	xchg(&state->credit.used, false);
	/* First the pools: else a pocket of the new life could draw on them. */
	for_each_node(nid)
		pages += mglru_pool_pages(xchg(&state->credit.pools[nid].word, 0));
	/* Ordered behind them; who spends reads the life first. */
	atomic_long_inc_return(&state->credit.life);
	if (pages)
		mglru_count_many(state->counters, MGLRU_STAT_CREDIT_EXPIRED, pages);
}

/**
 * mglru_credit_read - what is in the pools and pockets
 * @state: of a memory cgroup
 * @balance: set to the pages that can be spent
 * @unseen: set to those that have expired but are not counted yet
 *
 * Context: any; @state must be kept alive.
 */
void mglru_credit_read(struct mglru_memcg *state, unsigned long *balance,
		       unsigned long *unseen)
{
	struct mglru_credit *credit = &state->credit;
	unsigned long held, left, gen, quiet, life, expired = 0;
	struct mglru_pocket *pocket;
	int cpu, nid;
	bool alive;

	if (!mglru_is_enabled())
		mglru_credit_reset(state);
	*balance = 0;
	*unseen = 0;
	life = atomic_long_read(&credit->life);
	rcu_read_lock();
	/* The memcg is there as long as its slot shows the state. */
	alive = mglru_slot_state(READ_ONCE(mglru_slots[state->id])) == state;
	for_each_node(nid) {
		gen = alive ? READ_ONCE(mglru_lruvec(state->memcg, nid)->lrugen.max_seq) : 0;
		/* What nobody uses fades when it is next used, and when somebody looks: */
		if (alive)
			mglru_pool_take(&credit->pools[nid].word, gen, 0, 0, &expired);
		*balance += mglru_pool_pages(READ_ONCE(credit->pools[nid].word));
		/* but pockets are their CPU's. */
		for_each_possible_cpu(cpu) {
			pocket = per_cpu_ptr(credit->pockets, cpu);
			held = READ_ONCE(pocket->held[nid]);
			quiet = alive ? mglru_credit_quiet(mglru_pool_gen(held), gen) : 0;
			left = 0;
			if (READ_ONCE(pocket->life) == life)
				left = mglru_credit_fade(mglru_pool_pages(held), quiet);
			*balance += left;
			*unseen += mglru_pool_pages(held) - left;
		}
	}
	rcu_read_unlock();
	if (expired)
		mglru_count_many(state->counters, MGLRU_STAT_CREDIT_EXPIRED, expired);
}

/*
 * Whenever the marked folio of a window is touched, the next one is read. For
 * read() too, which is of no interest here. Its size is the last one's, or grows up
 * to the file's limit.
 *
 * What is read is charged to the task's memory cgroup, whoever the marked folio
 * belongs to.
 */
static void notrace mglru_hit_handler(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct readahead_control *ractl = (void *)ftrace_regs_get_argument(fregs, 0);
	struct mglru_pocket *pocket;
	struct mglru_memcg *state;
	unsigned long slot, expired;

	if (!lru_gen_in_fault())
		return;
	rcu_read_lock();
	slot = mglru_slot_of(mem_cgroup_from_task(current));
	if (mglru_policy_desc(mglru_slot_policy(slot))->fault == MGLRU_FAULT_CREDIT) {
		state = mglru_slot_state(slot);
		/* As in mglru_credit_spend(). */
		preempt_disable();
		pocket = this_cpu_ptr(state->credit.pockets);
		expired = mglru_pocket_open(pocket, nr_node_ids,
					    atomic_long_read(&state->credit.life));
		mglru_pocket_prove(pocket, ractl->mapping, MGLRU_PROVEN_BY_HIT *
				   max(ractl->ra->size, ractl->ra->ra_pages),
				   MGLRU_PROVEN_PAGES);
		mglru_count(state->counters, MGLRU_STAT_READAHEAD_HITS);
		if (expired)
			mglru_count_many(state->counters, MGLRU_STAT_CREDIT_EXPIRED, expired);
		preempt_enable();
	}
	rcu_read_unlock();
}

struct mglru_hook mglru_hook_readahead =
	MGLRU_HOOK_OBSERVE("page_cache_async_ra", mglru_hit_handler);

/*
 * Stands in for workingset_refault().
 *
 * Counted on every kernel: with the multi-gen LRU off, the original may flush
 * statistics, and so reschedule.
 *
 * Context: process context; the folio is locked, charged, and on no list.
 */
static void mglru_refault(struct folio *folio, void *shadow)
{
	struct mglru_memcg *state;
	struct mem_cgroup *memcg;
	unsigned long slot;

	mglru_hook_enter(&mglru_refault_in_flight);
	rcu_read_lock();
	memcg = folio_memcg(folio);
	slot = memcg ? mglru_slot_of(memcg) : 0;
	/* The policy may have changed since the handler looked. */
	if (mglru_policy_desc(mglru_slot_policy(slot))->fault == MGLRU_FAULT_CREDIT) {
		state = mglru_slot_state(slot);
		if (!mglru_is_enabled())
			mglru_credit_reset(state);
		else if (mglru_refault_counts(folio, shadow, memcg))
			mglru_credit_earn(state, folio);
	}
	rcu_read_unlock();
	static_call(mglru_orig_refault)(folio, shadow);
	mglru_hook_leave(&mglru_refault_in_flight);
}

static void notrace mglru_refault_handler(unsigned long ip, unsigned long parent_ip,
					  struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	if (!folio_is_file_lru(folio))
		return;
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_policy_desc(mglru_slot_policy(slot))->fault == MGLRU_FAULT_CREDIT)
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_refault);
}

static void mglru_aim_refault(void *past)
{
	static_call_update(mglru_orig_refault, (void (*)(struct folio *, void *))past);
}

struct mglru_hook mglru_hook_refault =
	MGLRU_HOOK_REDIRECT("workingset_refault", mglru_refault_handler, mglru_aim_refault,
			    mglru_refault_in_flight);
