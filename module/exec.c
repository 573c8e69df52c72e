// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an access through page tables does to a folio.
 *
 * Two functions see a page table entry that was found young:
 *
 *  - walk_update_folio(), called by aging while it walks page tables, and by
 *    the look-around of reclaim. With a walk at hand it moves the folio to the
 *    youngest generation there and then (folio_update_gen(), which is inlined
 *    there) and notes the change of sizes in the walk; without one it calls
 *  - lru_gen_set_refs(), which reclaim also calls for each mapped folio that it
 *    is about to reclaim and finds accessed. If it returns true, the caller
 *    activates the folio.
 *
 * The first access (PG_referenced and PG_workingset are clear):
 *
 *	6.14 to 7.2	mark the folio referenced, leave it where it is
 *	7.3		the same; but a file folio that is mapped executable is
 *			promoted: "mm: mglru: promote mapped executable folios
 *			after first usage"
 *
 * Policies with exec_promotion do the latter, those with no_exec_promotion the
 * former, all others what the kernel does.
 *
 * A further access in walk_update_folio() is the same everywhere: promote. In
 * lru_gen_set_refs() it is not:
 *
 *	6.14 to 7.1	promote: set PG_workingset, the caller activates
 *	7.2 and later	promote from the third access on; the second is counted
 *			by folio_mark_accessed(), and the caller activates
 *	v2		promote if PG_active is set, else leave the flags; the
 *			caller activates
 *
 * Promoting early in walk_update_folio() needs no code of ours: the original
 * promotes what is marked referenced, with the flags and the generation that
 * 7.3 gives it, and with its own accounting. So we mark it before. One thing is
 * not as in 7.3: a folio that is isolated just then is not promoted by either,
 * but here it ends up marked, as on any kernel before 7.3. In the other
 * direction, on 7.3, the original is handed a mapping that is not executable.
 */
#include <linux/swap.h>
#include <linux/static_call.h>

#include "exec.h"
#include "memcg.h"
#include "policy.h"
#include "vma.h"

#if MGLRU_HAVE_SET_REFS

static bool mglru_no_set_refs(MGLRU_SET_REFS_PROTO)
{
	return false;
}

static void mglru_no_update(MGLRU_UPDATE_PROTO)
{
}

DEFINE_STATIC_CALL(mglru_orig_set_refs, mglru_no_set_refs);
DEFINE_STATIC_CALL(mglru_orig_update, mglru_no_update);

static DEFINE_PER_CPU(long, mglru_set_refs_in_flight);
static DEFINE_PER_CPU(long, mglru_update_in_flight);

/* A mapping that is not executable, nor anything else; for 7.3. */
static struct vm_area_struct mglru_plain_vma __maybe_unused;

static bool mglru_is_first_access(struct folio *folio)
{
	return !(READ_ONCE(*mglru_flags(folio)) & (BIT(PG_referenced) | BIT(PG_workingset)));
}

/* Is the first access of a folio to be treated otherwise than the kernel does? */
static bool mglru_exec_decides(unsigned long slot, struct folio *folio)
{
	return mglru_exec_needs_hook(mglru_slot_policy(slot)) && folio_is_file_lru(folio);
}

/*
 * Decide on a first access, and count it as @promoted if it is to promote (a
 * folio that is isolated at this moment included).
 * Context: RCU read side.
 */
static bool mglru_exec_promotes(unsigned long slot, enum mglru_mapping mapping,
				enum mglru_stat promoted)
{
	enum mglru_stat stat = MGLRU_STAT_EXEC_NOT;

	if (mapping == MGLRU_MAPPING_UNKNOWN)
		stat = MGLRU_STAT_EXEC_UNKNOWN;
	else if (mapping == MGLRU_MAPPING_EXEC && (mglru_slot_policy(slot) & MGLRU_EXEC_ON))
		stat = promoted;
	mglru_count(mglru_slot_state(slot)->counters, stat);
	return stat == promoted;
}

/* The first access, as 7.3 or as the kernels before it see it. */
static bool mglru_set_refs_first(MGLRU_SET_REFS_PROTO)
{
	unsigned long slot;
	bool promote = false, held = false;

	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	if (mglru_exec_decides(slot, folio)) {
		if (MGLRU_FINDS_VMA)
			promote = mglru_exec_promotes(slot, mglru_mapping_of_access(folio),
						      MGLRU_STAT_EXEC_RMAP);
		else if (MGLRU_SET_REFS_EXEC)
			held = !mglru_exec_promotes(slot, MGLRU_MAPPING_EXEC,
						    MGLRU_STAT_EXEC_RMAP);
	}
	rcu_read_unlock();

	if (promote) {
		set_mask_bits(mglru_flags(folio), LRU_REFS_FLAGS, BIT(PG_workingset));
		return true;
	}
	if (held)
		return static_call(mglru_orig_set_refs)(MGLRU_SET_REFS_PLAIN);
	return static_call(mglru_orig_set_refs)(MGLRU_SET_REFS_ARGS);
}

/* The further ones. */
static bool mglru_set_refs_again(MGLRU_SET_REFS_PROTO)
{
	enum mglru_refs_rule rule;
	unsigned long slot;
	bool promote;

	/* The policy may have changed since the handler looked. */
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rule = mglru_policy_desc(mglru_slot_policy(slot))->refs;
	if (!mglru_refs_rule_needs_hook(rule)) {
		rcu_read_unlock();
		return static_call(mglru_orig_set_refs)(MGLRU_SET_REFS_ARGS);
	}

	switch (rule) {
	case MGLRU_REFS_7_2:
		promote = folio_lru_refs(folio) > 1;
		break;
	case MGLRU_REFS_V2:
		promote = folio_test_active(folio);
		break;
	default:
		promote = true;
		break;
	}
	mglru_count(mglru_slot_state(slot)->counters,
		    promote ? MGLRU_STAT_REFS_PROMOTED : MGLRU_STAT_REFS_COUNTED);
	rcu_read_unlock();

	if (promote)
		set_mask_bits(mglru_flags(folio), LRU_REFS_FLAGS, BIT(PG_workingset));
	else if (rule == MGLRU_REFS_7_2)
		folio_mark_accessed(folio);
	return true;
}

/*
 * Stands in for lru_gen_set_refs().
 *
 * Context: reclaim, with the folio locked, or look-around, with the page table
 * lock held. Does not sleep.
 */
static bool mglru_set_refs(MGLRU_SET_REFS_PROTO)
{
	bool ret;

	mglru_hook_enter_rt(&mglru_set_refs_in_flight);
	if (mglru_is_first_access(folio))
		ret = mglru_set_refs_first(MGLRU_SET_REFS_ARGS);
	else
		ret = mglru_set_refs_again(MGLRU_SET_REFS_ARGS);
	mglru_hook_leave_rt(&mglru_set_refs_in_flight);
	return ret;
}

static void notrace mglru_set_refs_handler(unsigned long ip, unsigned long parent_ip,
					   struct ftrace_ops *op,
					   struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;
	bool ours;

	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_is_first_access(folio))
		ours = mglru_exec_decides(slot, folio);
	else
		ours = mglru_refs_rule_needs_hook(mglru_policy_desc(mglru_slot_policy(slot))->refs);
	if (ours)
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_set_refs);
}

static void mglru_aim_set_refs(void *past)
{
	static_call_update(mglru_orig_set_refs, (bool (*)(MGLRU_SET_REFS_PROTO))past);
}

struct mglru_hook mglru_hook_set_refs =
	MGLRU_HOOK_REDIRECT_RT("lru_gen_set_refs", mglru_set_refs_handler, mglru_aim_set_refs,
			       mglru_set_refs_in_flight);

/*
 * Mark a folio that is on a list as referenced, once: then folio_update_gen()
 * promotes it.
 */
static bool mglru_mark_referenced(struct folio *folio)
{
	unsigned long new_flags, old_flags = READ_ONCE(*mglru_flags(folio));

	do {
		if (!(old_flags & LRU_GEN_MASK) ||
		    (old_flags & (BIT(PG_referenced) | BIT(PG_workingset))))
			return false;
		new_flags = (old_flags & ~LRU_REFS_MASK) | BIT(PG_referenced);
	} while (!try_cmpxchg(mglru_flags(folio), &old_flags, new_flags));
	return true;
}

/*
 * Stands in for walk_update_folio().
 *
 * Context: the page table lock is held; does not sleep. Without a walk, what
 * matters is decided in lru_gen_set_refs().
 */
static void mglru_update(MGLRU_UPDATE_PROTO)
{
	unsigned long slot;
	bool held = false;

	mglru_hook_enter_rt(&mglru_update_in_flight);
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	if (mglru_is_first_access(folio) && mglru_exec_decides(slot, folio)) {
		if (MGLRU_FINDS_VMA) {
			if (mglru_exec_promotes(slot, mglru_mapping_of_walk(walk),
						MGLRU_STAT_EXEC_WALK))
				mglru_mark_referenced(folio);
		} else if (MGLRU_UPDATE_EXEC) {
			held = !mglru_exec_promotes(slot, MGLRU_MAPPING_EXEC,
						    MGLRU_STAT_EXEC_WALK);
		}
	}
	rcu_read_unlock();
	if (held)
		static_call(mglru_orig_update)(MGLRU_UPDATE_PLAIN);
	else
		static_call(mglru_orig_update)(MGLRU_UPDATE_ARGS);
	mglru_hook_leave_rt(&mglru_update_in_flight);
}

static void notrace mglru_update_handler(unsigned long ip, unsigned long parent_ip,
					 struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, MGLRU_UPDATE_FOLIO);
	void *walk = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	if (!folio || (MGLRU_FINDS_VMA && !walk) || !mglru_is_first_access(folio))
		return;
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_exec_decides(slot, folio))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_update);
}

static void mglru_aim_update(void *past)
{
	static_call_update(mglru_orig_update, (void (*)(MGLRU_UPDATE_PROTO))past);
}

struct mglru_hook mglru_hook_update =
	MGLRU_HOOK_REDIRECT_RT("walk_update_folio", mglru_update_handler, mglru_aim_update,
			       mglru_update_in_flight);

#else

/* Never looked for, see mglru_policy_hooks(). */
struct mglru_hook mglru_hook_set_refs = { .func = "lru_gen_set_refs" };
struct mglru_hook mglru_hook_update = { .func = "walk_update_folio" };

#endif
