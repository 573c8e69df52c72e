// SPDX-License-Identifier: GPL-2.0-only
/*
 * Where an added folio starts.
 *
 * The model
 * =========
 *
 * The multi-gen LRU keeps a lruvec's folios in up to four generations per
 * type. max_seq is the youngest; the two youngest count as active, the others
 * as inactive; reclaim takes from the oldest, min_seq. Aging makes a new
 * youngest one, so that all others are a step older.
 *
 *	  oldest                                              youngest
 *	+-----------+-------------+-----------------+-----------+
 *	| max_seq-3 |  max_seq-2  |    max_seq-1    |  max_seq  |
 *	+-----------+-------------+-----------------+-----------+
 *	      ^            ^               ^               ^
 *	 not accessed   accessed        PG_active      PG_active and
 *	  (read-ahead,  once: 7.2    (set_active up     PG_workingset
 *	   read())                     to 7.1);        (a refault); also
 *	                             plain anon;       fault_youngest and,
 *	                             awaiting          for all that is not
 *	                             writeback         active, mark_accessed
 *
 * (With only three generations, max_seq-3 does not exist and max_seq-2 is the
 * oldest.)
 *
 * A folio gets there in two steps. folio_add_lru() marks it if it is added
 * inside a page fault, be it the page that faulted or one that read-ahead
 * brought along, and puts it into a per-CPU batch. Later, when the batch is
 * full or drained, perhaps by another task, lru_add() runs for each folio of
 * it under the lruvec lock; lru_gen_folio_seq(), which is inlined there,
 * chooses the generation from the folio's flags.
 *
 * What the kernels do in the two steps:
 *
 *		folio_add_lru(), in a fault	lru_gen_folio_seq(), not active
 *  6.12	set PG_active (which means	oldest but one, or the oldest
 *		the youngest generation)	while there are only three
 *  6.14-7.1	set PG_active			oldest; if workingset, the next
 *  7.2-7.3	workingset: set PG_active	oldest; if workingset or
 *		else: accessed once		referenced, the next
 *
 * What the policies change (mglru_policies[] in policy.c), the same on every
 * kernel:
 *
 *  set_active		both steps as 6.14-7.1
 *  mark_accessed_v3	both steps as 7.2-7.3
 *  mark_accessed	first step as 7.2; then everything that is not active
 *			starts in the youngest generation, read() data too
 *  readahead_credit	both steps as 7.2-7.3; but a file folio becomes active as
 *			long as there is credit for it (credit.c)
 *  fault_youngest	what was added in a fault starts in the youngest
 *			generation as "accessed once", also after a refault: it
 *			is not promoted, and one aging without another access
 *			makes it as cold as any. Everything else as the kernel
 *			does it.
 *
 * The second access through page tables (exec.c) is part of a policy: 6.14 to
 * 7.1's rule for set_active, 7.2's for mark_accessed_v3, readahead_credit and
 * fault_youngest, v2's for mark_accessed. (On 6.18, fault_youngest with the
 * kernel's own rule had 79 to 116 major faults in workload C, with 7.2's 50 to 67.)
 *
 * How
 * ===
 *
 * Step one is done here in full and the original runs with in_lru_fault
 * cleared, so that it only queues. For step two the decision has to travel
 * with the folio from folio_add_lru() to lru_add(), since the task, the time
 * and even the policy may be others by then. It cannot travel in the page
 * flags: those are everybody's. But a folio that waits in a batch is on no
 * list, so folio->lru is nobody's until lru_add() links it. The replacement of
 * folio_add_lru() stores the address of a mark in folio->lru.prev, and
 * lru_add()'s hook needs a single comparison to leave all others alone. If
 * nobody reads the mark, because the hook has gone meanwhile, the list_add()
 * in lru_add() overwrites it.
 *
 * The replacement of lru_add() works out what generation the rule wants, lets
 * the original add the folio, and then moves it. Both generations are of the
 * same kind, active or inactive, so that a move changes nr_pages[] and no other
 * size, as in folio_inc_gen(). Where the rule wants an active generation and
 * the kernel would choose an inactive one, PG_active is set first; the
 * original consumes it when it sets the generation, with one atomic operation,
 * and so does away with nobody's update. The move is a cmpxchg that gives up
 * if the page table walk has promoted the folio in between to a generation of
 * the other kind. (Promoted from one active generation to the other within
 * those few instructions, it goes back; the sizes stay right.)
 *
 * What cannot be reproduced exactly
 * =================================
 *
 *  - What lru_gen_folio_seq() decides elsewhere, for folios that reclaim puts
 *    back (move_folios_to_lru()): it is inlined there, so the running kernel's
 *    rule holds. From 7.2 on a referenced folio that is put back starts in the
 *    oldest generation but one, before in the oldest.
 *  - 6.12 has no lru_gen_set_refs(): its page table walk promotes on the first
 *    access. A folio added in a fault differs by its first generation only.
 *    set_active puts it into max_seq-1 as 6.14 does; 6.12's own way, the
 *    youngest, is "original".
 *  - 6.12 forgets PG_referenced and the count of accesses of a folio that it
 *    adds as active. We put back what was there before, but an access counted
 *    during those few instructions is lost, as it is in the original.
 *  - workingset_activate_* in memory.stat is counted by the kernel according
 *    to what it would have done itself.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/rculist.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/swap.h>

#include "credit.h"
#include "memcg.h"
#include "placement.h"
#include "policy.h"

static_assert(MGLRU_MIN_GENS == MIN_NR_GENS && MGLRU_MAX_GENS == MAX_NR_GENS);

static void mglru_no_add_lru(struct folio *folio)
{
}

static void mglru_no_lru_add(struct lruvec *lruvec, struct folio *folio)
{
}

DEFINE_STATIC_CALL(mglru_orig_folio_add_lru, mglru_no_add_lru);
DEFINE_STATIC_CALL(mglru_orig_lru_add, mglru_no_lru_add);

static DEFINE_PER_CPU(long, mglru_add_in_flight);
static DEFINE_PER_CPU(long, mglru_lru_add_in_flight);

/* The kernel's lru_gen_caps[], static keys that it does not export. */
static const struct static_key *mglru_caps __ro_after_init;

/* Where folio->lru.prev of a batched folio points: one mark for each rule. */
static struct list_head mglru_marks[MGLRU_NR_ADD_RULES];

/**
 * mglru_is_enabled - is the multi-gen LRU switched on
 *
 * What lru_gen_enabled() says, by reading the key instead of a patched branch,
 * which a module cannot have for an unexported key.
 *
 * Context: any.
 */
bool mglru_is_enabled(void)
{
	return atomic_read(&mglru_caps[LRU_GEN_CORE].enabled) != 0;
}

/*
 * Step one for a folio added in a fault, according to 6cbdd9726fb5 ("mm/mglru:
 * use folio_mark_accessed to replace folio_set_active"), or before it.
 */
static enum mglru_stat mglru_mark_fault(unsigned long slot, struct folio *folio)
{
	const struct mglru_policy_desc *desc = mglru_policy_desc(mglru_slot_policy(slot));

	if (desc->fault == MGLRU_FAULT_ACTIVATE ||
	    (desc->fault != MGLRU_FAULT_ONCE && folio_test_workingset(folio))) {
		folio_set_active(folio);
		return MGLRU_STAT_ADD_ACTIVE;
	}
	if (desc->fault == MGLRU_FAULT_CREDIT && folio_is_file_lru(folio) &&
	    mglru_credit_spend(mglru_slot_state(slot), folio)) {
		folio_set_active(folio);
		return MGLRU_STAT_ADD_CREDIT;
	}
	if (!folio_test_referenced(folio))
		folio_mark_accessed(folio);
	return desc->add == MGLRU_ADD_YOUNGEST || desc->add == MGLRU_ADD_V2 ?
	       MGLRU_STAT_ADD_YOUNGEST : MGLRU_STAT_ADD_ACCESSED;
}

/*
 * Stands in for folio_add_lru().
 *
 * Context: as folio_add_lru(): process context, preemptible, does not sleep.
 * The caller has a reference to the folio, which is on no list.
 */
static void mglru_folio_add_lru(struct folio *folio)
{
	const struct mglru_policy_desc *desc;
	bool in_fault = lru_gen_in_fault();
	enum mglru_stat stat = MGLRU_STAT_ADD_OTHER;
	unsigned long slot;

	mglru_hook_enter_rt(&mglru_add_in_flight);
	/* One read of the policy decides both steps. */
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	desc = mglru_policy_desc(mglru_slot_policy(slot));
	if (desc->fault == MGLRU_FAULT_NATIVE || !mglru_is_enabled()) {
		/* Back to original since the handler looked, or switched off. */
		if (desc->fault == MGLRU_FAULT_CREDIT)
			mglru_credit_reset(mglru_slot_state(slot));
		rcu_read_unlock();
		static_call(mglru_orig_folio_add_lru)(folio);
		goto leave;
	}

	if (in_fault && !folio_test_unevictable(folio) && !(current->flags & PF_MEMALLOC))
		stat = mglru_mark_fault(slot, folio);
	if (mglru_add_rule_needs_hook(desc->add) &&
	    (desc->add != MGLRU_ADD_YOUNGEST || stat == MGLRU_STAT_ADD_YOUNGEST))
		folio->lru.prev = &mglru_marks[desc->add];
	mglru_count(mglru_slot_state(slot)->counters, stat);
	rcu_read_unlock();

	/* A bit that only the task itself changes. */
	if (in_fault)
		current->in_lru_fault = 0;
	static_call(mglru_orig_folio_add_lru)(folio);
	if (in_fault)
		current->in_lru_fault = 1;
leave:
	mglru_hook_leave_rt(&mglru_add_in_flight);
}

static void notrace mglru_add_handler(unsigned long ip, unsigned long parent_ip,
				      struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_policy_desc(mglru_slot_policy(slot))->fault != MGLRU_FAULT_NATIVE)
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_folio_add_lru);
}

static void mglru_aim_add(void *past)
{
	static_call_update(mglru_orig_folio_add_lru, (void (*)(struct folio *))past);
}

struct mglru_hook mglru_hook_add =
	MGLRU_HOOK_REDIRECT_RT("folio_add_lru", mglru_add_handler, mglru_aim_add,
			       mglru_add_in_flight);

static unsigned int mglru_folio_state(struct folio *folio)
{
	unsigned int f = 0;

	if (folio_test_active(folio))
		f |= MGLRU_F_ACTIVE;
	if (folio_test_workingset(folio))
		f |= MGLRU_F_WORKINGSET;
	if (folio_test_referenced(folio))
		f |= MGLRU_F_REFERENCED;
	if (!folio_is_file_lru(folio) && !folio_test_swapcache(folio))
		f |= MGLRU_F_PLAIN_ANON;
	if (folio_test_reclaim(folio) &&
	    (folio_test_dirty(folio) || folio_test_writeback(folio)))
		f |= MGLRU_F_WRITEBACK;
	return f;
}

/*
 * Move a folio between two generations of the same kind, as folio_inc_gen()
 * does, unless somebody else has moved it since.
 *
 * Context: the lruvec lock is held.
 */
static void mglru_move_to_gen(struct lruvec *lruvec, struct folio *folio, int new_gen)
{
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long new_flags, old_flags = READ_ONCE(*mglru_flags(folio));
	int type = folio_is_file_lru(folio);
	int zone = folio_zonenum(folio);
	int delta = folio_nr_pages(folio);
	int old_gen = ((old_flags & LRU_GEN_MASK) >> LRU_GEN_PGOFF) - 1;

	if (old_gen < 0 || old_gen == new_gen ||
	    lru_gen_is_active(lruvec, old_gen) != lru_gen_is_active(lruvec, new_gen))
		return;
	do {
		/* folio_update_gen() has promoted it? */
		if ((int)((old_flags & LRU_GEN_MASK) >> LRU_GEN_PGOFF) - 1 != old_gen)
			return;
		new_flags = old_flags & ~LRU_GEN_MASK;
		new_flags |= (new_gen + 1UL) << LRU_GEN_PGOFF;
	} while (!try_cmpxchg(mglru_flags(folio), &old_flags, new_flags));

	WRITE_ONCE(lrugen->nr_pages[old_gen][type][zone],
		   lrugen->nr_pages[old_gen][type][zone] - delta);
	WRITE_ONCE(lrugen->nr_pages[new_gen][type][zone],
		   lrugen->nr_pages[new_gen][type][zone] + delta);
	list_move(&folio->lru, &lrugen->folios[new_gen][type][zone]);
}

/*
 * Stands in for lru_add().
 *
 * Context: as lru_add(): the lruvec lock is held (with interrupts off, but on
 * PREEMPT_RT), the folio is on no list and not PG_lru, the batch has a reference to it. Page
 * table walks may change its flags at any time.
 */
static void mglru_lru_add(struct lruvec *lruvec, struct folio *folio)
{
	enum mglru_add_rule rule = folio->lru.prev - mglru_marks;
	struct lru_gen_folio *lrugen = &lruvec->lrugen;
	unsigned long seq, refs;
	unsigned int age, f;

	mglru_hook_enter_rt(&mglru_lru_add_in_flight);
	/* Switched off since the folio was marked. */
	if (!lrugen->enabled) {
		static_call(mglru_orig_lru_add)(lruvec, folio);
		goto leave;
	}

	f = mglru_folio_state(folio);
	age = mglru_add_age(rule, f);
	refs = READ_ONCE(*mglru_flags(folio)) & (LRU_REFS_MASK | BIT(PG_referenced));

	/* The original clears it again, also if the folio is unevictable. */
	if (age <= MIN_NR_GENS && !(f & MGLRU_F_ACTIVE))
		folio_set_active(folio);
	static_call(mglru_orig_lru_add)(lruvec, folio);
	if (!MGLRU_ADD_KEEPS_REFS && age <= MIN_NR_GENS)
		set_mask_bits(mglru_flags(folio), 0, refs);

	seq = mglru_add_seq(lrugen->max_seq, lrugen->min_seq[folio_is_file_lru(folio)], age);
	mglru_move_to_gen(lruvec, folio, lru_gen_from_seq(seq));
leave:
	mglru_hook_leave_rt(&mglru_lru_add_in_flight);
}

static void notrace mglru_lru_add_handler(unsigned long ip, unsigned long parent_ip,
					  struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 1);
	unsigned long offset = (unsigned long)folio->lru.prev - (unsigned long)mglru_marks;

	if (offset < sizeof(mglru_marks))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_lru_add);
}

static void mglru_aim_lru_add(void *past)
{
	static_call_update(mglru_orig_lru_add,
			   (void (*)(struct lruvec *, struct folio *))past);
}

struct mglru_hook mglru_hook_lru_add =
	MGLRU_HOOK_REDIRECT_RT("lru_add", mglru_lru_add_handler, mglru_aim_lru_add,
			       mglru_lru_add_in_flight);

/**
 * mglru_placement_init - find the multi-gen LRU's switch
 *
 * Context: process context; after mglru_hook_init().
 * Return: 0, or -EOPNOTSUPP (logged) on a kernel built without it.
 */
int __init mglru_placement_init(void)
{
	mglru_caps = mglru_hook_data("lru_gen_caps");
	if (mglru_caps)
		return 0;
	pr_err("lru_gen_caps not found: this kernel has no multi-gen LRU (CONFIG_LRU_GEN) or hides its data (CONFIG_KALLSYMS_ALL)\n");
	return -EOPNOTSUPP;
}
