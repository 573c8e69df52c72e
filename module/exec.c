// SPDX-License-Identifier: GPL-2.0-only
/*
 * What an access through page tables does to a folio: lru_gen_set_refs(),
 * called by reclaim for each mapped folio that it finds accessed, and by the
 * look-around beside it.
 *
 * The first access is the same for all: the folio is marked referenced and
 * stays where it is (7.3 promotes it at once if it is mapped executable). The
 * kernels differ in the second one:
 *
 *	6.14 to 7.1	promote: set PG_workingset, the caller activates
 *	7.2 and later	promote from the third access on; the second is counted
 *			by folio_mark_accessed(), and the caller activates
 *	v2		promote if PG_active is set, else leave the flags; the
 *			caller activates
 *
 * So a replacement has to decide the second access alone and leaves the first
 * one to the kernel, exec promotion included.
 */
#include <linux/swap.h>
#include <linux/static_call.h>

#include "exec.h"
#include "memcg.h"
#include "policy.h"

#if MGLRU_HAVE_SET_REFS

static bool mglru_no_set_refs(MGLRU_SET_REFS_PROTO)
{
	return false;
}

DEFINE_STATIC_CALL(mglru_orig_set_refs, mglru_no_set_refs);

/* Never counted: nothing here blocks, on PREEMPT_RT either. */
static DEFINE_PER_CPU(long, mglru_set_refs_in_flight);

/*
 * Stands in for lru_gen_set_refs().
 *
 * Context: reclaim, with the folio locked, or look-around, with the page table
 * lock held. Does not sleep.
 */
static bool mglru_set_refs(MGLRU_SET_REFS_PROTO)
{
	enum mglru_refs_rule rule;
	unsigned long slot;
	bool promote;

	/* See the comment on LRU_REFS_FLAGS. */
	if (!folio_test_referenced(folio) && !folio_test_workingset(folio))
		return static_call(mglru_orig_set_refs)(MGLRU_SET_REFS_ARGS);

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

static void notrace mglru_set_refs_handler(unsigned long ip, unsigned long parent_ip,
					   struct ftrace_ops *op,
					   struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_refs_rule_needs_hook(mglru_policy_desc(mglru_slot_policy(slot))->refs))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_set_refs);
}

static void mglru_aim_set_refs(void *past)
{
	static_call_update(mglru_orig_set_refs, (bool (*)(MGLRU_SET_REFS_PROTO))past);
}

struct mglru_hook mglru_hook_set_refs =
	MGLRU_HOOK_REDIRECT("lru_gen_set_refs", mglru_set_refs_handler, mglru_aim_set_refs,
			    mglru_set_refs_in_flight);

#else

/* Never looked for: mglru_refs_rule_needs_hook() is false. */
struct mglru_hook mglru_hook_set_refs = { .func = "lru_gen_set_refs" };

#endif
