// SPDX-License-Identifier: GPL-2.0-only
/*
 * Through which mapping was a folio accessed?
 *
 * Exec promotion asks whether the page table entry that was found young belongs
 * to an executable mapping. From 7.3 on the kernel hands the mapping down to
 * where the question arises. Before, it is known further up only, and has to be
 * carried down by us. There are three ways down:
 *
 *   aging		walk_mm()
 *			  walk_pud_range(..., mm_walk)		mm_walk->vma
 *			    walk_pte_range(), walk_pmd_range_locked()
 *			      walk_update_folio(walk, folio)	<-- asked here
 *
 *   look-around	folio_referenced()
 *			  lru_gen_look_around(pvmw)		pvmw->vma
 *			    walk_update_folio(walk, folio)	<-- here, or, if
 *			      lru_gen_set_refs(folio)		walk is NULL, here
 *
 *   reclaim		shrink_folio_list()
 *			  folio_referenced(folio, &vm_flags)	vm_flags
 *			  lru_gen_set_refs(folio)		<-- here
 *
 * Each has something of its own that lives exactly as long as is needed, is
 * nobody else's meanwhile, and is at hand where the question is asked:
 *
 *  - Aging: walk->next_addr. walk_mm() reads it before it calls
 *    walk_pud_range(), which writes it just before it returns; in between it
 *    holds a user address that nobody looks at. The replacement of
 *    walk_pud_range() stores the address of the mm_walk there, and takes it out
 *    if the original has not overwritten it. The walk is the task's own
 *    (kswapd's is the node's), so this holds however often it is preempted or
 *    migrates. mm_walk->vma moves during the walk and is read when it is asked
 *    for: walk_pte_range() updates the last folio of a mapping before it goes
 *    on to the next. Only walk_pmd_range_locked() works on entries of a mapping
 *    that mm_walk->vma may have left; it is told the mapping, which is then put
 *    into walk->next_addr instead, with bit 0 set.
 *
 *  - Look-around: it runs with a page table lock held. So it stays on one CPU,
 *    and nobody else runs a look-around there; on PREEMPT_RT somebody else may,
 *    who has preempted it. Hence a list per CPU of look-arounds under way, with
 *    the task that each belongs to: one entry, or on PREEMPT_RT a few. It is
 *    asked first, for a look-around may have a walk at hand, and may see folios
 *    that another task is just reclaiming.
 *
 *  - Reclaim: folio->lru.prev. shrink_folio_list() has taken the folio off its
 *    list and puts it onto another one when it is done with it; in between the
 *    field holds a poison. The replacement of folio_referenced() stores the
 *    address of a mark there, as placement.c does for folio_add_lru(). Only the
 *    owner of the folio writes it; others may read it and take it for nothing.
 *
 * When a hook comes or goes in the middle of one of these, the answer is
 * "unknown", and the folio is treated as if it was not executable. Nothing
 * outlives the replacement that has put it there, but for the mark in
 * folio->lru.prev, which the next list_add() overwrites.
 */
#include <linux/mm.h>
#include <linux/static_call.h>

#include "memcg.h"
#include "vma.h"

#if MGLRU_FINDS_VMA

#define MGLRU_IS_VMA	1UL	/* bit 0 of walk->next_addr: a mapping, no mm_walk */

/* A look-around under way, on the stack of its task. */
struct mglru_look {
	struct mglru_look *outer;
	struct task_struct *task;
	struct vm_area_struct *vma;
};

/* Where folio->lru.prev points after folio_referenced(): plain, executable. */
static struct list_head mglru_vma_marks[2];

/* Changed and searched with preemption off, never from an interrupt. */
static DEFINE_PER_CPU(struct mglru_look *, mglru_looks);

static DEFINE_PER_CPU(long, mglru_walk_pud_in_flight);
static DEFINE_PER_CPU(long, mglru_walk_pmd_in_flight);
static DEFINE_PER_CPU(long, mglru_look_around_in_flight);
static DEFINE_PER_CPU(long, mglru_referenced_in_flight);

static int mglru_no_walk_pud(p4d_t *p4d, unsigned long start, unsigned long end,
			     struct mm_walk *args)
{
	return 1;
}

static void mglru_no_walk_pmd(pud_t *pud, unsigned long addr, struct vm_area_struct *vma,
			      struct mm_walk *args, unsigned long *bitmap,
			      unsigned long *first)
{
}

static bool mglru_no_look_around(struct page_vma_mapped_walk *pvmw, unsigned int nr)
{
	return false;
}

static int mglru_no_referenced(struct folio *folio, int is_locked, struct mem_cgroup *memcg,
			       vm_flags_t *vm_flags)
{
	return 0;
}

DEFINE_STATIC_CALL(mglru_orig_walk_pud, mglru_no_walk_pud);
DEFINE_STATIC_CALL(mglru_orig_walk_pmd, mglru_no_walk_pmd);
DEFINE_STATIC_CALL(mglru_orig_look_around, mglru_no_look_around);
DEFINE_STATIC_CALL(mglru_orig_referenced, mglru_no_referenced);

static bool mglru_wants_exec(unsigned long slot)
{
	return mglru_slot_policy(slot) & MGLRU_EXEC_ON;
}

static enum mglru_mapping mglru_mapping_of(const struct vm_area_struct *vma)
{
	if (!vma)
		return MGLRU_MAPPING_UNKNOWN;
	return vma->vm_flags & VM_EXEC ? MGLRU_MAPPING_EXEC : MGLRU_MAPPING_PLAIN;
}

/* Kernel addresses are the negative ones. */
static bool mglru_walk_is_ours(const struct lru_gen_mm_walk *walk)
{
	return (long)walk->next_addr < 0;
}

/* The mapping that the current task's innermost look-around is in, or NULL. */
static struct vm_area_struct *mglru_look_vma(void)
{
	struct vm_area_struct *vma = NULL;
	struct mglru_look *look;

	preempt_disable();
	for (look = __this_cpu_read(mglru_looks); look; look = look->outer) {
		if (look->task == current) {
			vma = look->vma;
			break;
		}
	}
	preempt_enable();
	return vma;
}

/**
 * mglru_mapping_of_walk - through which mapping aging has found an access
 * @walk: argument of walk_update_folio()
 *
 * Context: in walk_update_folio(), the page table lock is held.
 * Return: what kind of mapping; unknown if the walk began before its hook.
 */
enum mglru_mapping mglru_mapping_of_walk(struct lru_gen_mm_walk *walk)
{
	struct vm_area_struct *vma = mglru_look_vma();

	if (vma || !mglru_walk_is_ours(walk))
		return mglru_mapping_of(vma);
	if (walk->next_addr & MGLRU_IS_VMA)
		return mglru_mapping_of((void *)(walk->next_addr & ~MGLRU_IS_VMA));
	return mglru_mapping_of(((struct mm_walk *)walk->next_addr)->vma);
}

/**
 * mglru_mapping_of_access - through which mapping reclaim has found an access
 * @folio: argument of lru_gen_set_refs()
 *
 * Context: in lru_gen_set_refs().
 * Return: what kind of mapping (executable, if one of several is); unknown if
 * what led here began before its hook.
 */
enum mglru_mapping mglru_mapping_of_access(struct folio *folio)
{
	struct vm_area_struct *vma = mglru_look_vma();
	unsigned long offset;

	/*
	 * A look-around does not own the folio: it may be on a list, or just
	 * have been isolated by another task, whose mark is not for us.
	 */
	if (vma)
		return mglru_mapping_of(vma);
	offset = (unsigned long)READ_ONCE(folio->lru.prev) - (unsigned long)mglru_vma_marks;
	if (offset >= sizeof(mglru_vma_marks))
		return MGLRU_MAPPING_UNKNOWN;
	return offset ? MGLRU_MAPPING_EXEC : MGLRU_MAPPING_PLAIN;
}

/*
 * Stands in for walk_pud_range().
 *
 * Context: mmap lock held for reading, preemptible, does not sleep.
 */
static int mglru_walk_pud(p4d_t *p4d, unsigned long start, unsigned long end,
			  struct mm_walk *args)
{
	struct lru_gen_mm_walk *walk = args->private;
	unsigned long next_addr = walk->next_addr;
	int ret;

	mglru_hook_enter_rt(&mglru_walk_pud_in_flight);
	walk->next_addr = (unsigned long)args;
	ret = static_call(mglru_orig_walk_pud)(p4d, start, end, args);
	/* The end of the address space: the original has not written it. */
	if (walk->next_addr == (unsigned long)args)
		walk->next_addr = next_addr;
	mglru_hook_leave_rt(&mglru_walk_pud_in_flight);
	return ret;
}

static void notrace mglru_walk_pud_handler(unsigned long ip, unsigned long parent_ip,
					   struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct mm_walk *args = (void *)ftrace_regs_get_argument(fregs, 3);
	struct lru_gen_mm_walk *walk = args->private;
	unsigned long slot;

	rcu_read_lock();
	slot = mglru_slot_of(lruvec_memcg(walk->lruvec));
	rcu_read_unlock();
	if (mglru_wants_exec(slot))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_walk_pud);
}

static void mglru_aim_walk_pud(void *past)
{
	static_call_update(mglru_orig_walk_pud, (typeof(mglru_no_walk_pud) *)past);
}

struct mglru_hook mglru_hook_walk_pud =
	MGLRU_HOOK_REDIRECT_RT("walk_pud_range", mglru_walk_pud_handler, mglru_aim_walk_pud,
			       mglru_walk_pud_in_flight);

/*
 * Stands in for walk_pmd_range_locked() where mm_walk->vma is another mapping
 * than the one that it works on.
 *
 * Context: as mglru_walk_pud(), inside it.
 */
static void mglru_walk_pmd(pud_t *pud, unsigned long addr, struct vm_area_struct *vma,
			   struct mm_walk *args, unsigned long *bitmap, unsigned long *first)
{
	struct lru_gen_mm_walk *walk = args->private;
	unsigned long ours = walk->next_addr;

	mglru_hook_enter_rt(&mglru_walk_pmd_in_flight);
	walk->next_addr = (unsigned long)vma | MGLRU_IS_VMA;
	static_call(mglru_orig_walk_pmd)(pud, addr, vma, args, bitmap, first);
	walk->next_addr = ours;
	mglru_hook_leave_rt(&mglru_walk_pmd_in_flight);
}

static void notrace mglru_walk_pmd_handler(unsigned long ip, unsigned long parent_ip,
					   struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct vm_area_struct *vma = (void *)ftrace_regs_get_argument(fregs, 2);
	struct mm_walk *args = (void *)ftrace_regs_get_argument(fregs, 3);

	if (args->vma != vma && mglru_walk_is_ours(args->private))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_walk_pmd);
}

static void mglru_aim_walk_pmd(void *past)
{
	static_call_update(mglru_orig_walk_pmd, (typeof(mglru_no_walk_pmd) *)past);
}

struct mglru_hook mglru_hook_walk_pmd =
	MGLRU_HOOK_REDIRECT_RT("walk_pmd_range_locked", mglru_walk_pmd_handler,
			       mglru_aim_walk_pmd, mglru_walk_pmd_in_flight);

/*
 * Stands in for lru_gen_look_around(). Not all kernels pass it a second
 * argument; what is in its register then goes through unread.
 *
 * Context: the page table lock is held; does not sleep.
 */
static bool mglru_look_around(struct page_vma_mapped_walk *pvmw, unsigned int nr)
{
	struct mglru_look look = { .task = current, .vma = pvmw->vma };
	struct mglru_look **pos;
	bool young;

	mglru_hook_enter_rt(&mglru_look_around_in_flight);
	preempt_disable();
	look.outer = __this_cpu_read(mglru_looks);
	__this_cpu_write(mglru_looks, &look);
	preempt_enable();

	young = static_call(mglru_orig_look_around)(pvmw, nr);

	/* The same CPU. On PREEMPT_RT others may have come and not left yet. */
	preempt_disable();
	for (pos = this_cpu_ptr(&mglru_looks); *pos != &look; pos = &(*pos)->outer)
		;
	*pos = look.outer;
	preempt_enable();
	mglru_hook_leave_rt(&mglru_look_around_in_flight);
	return young;
}

static void notrace mglru_look_around_handler(unsigned long ip, unsigned long parent_ip,
					      struct ftrace_ops *op,
					      struct ftrace_regs *fregs)
{
	struct page_vma_mapped_walk *pvmw = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	/* All folios that it looks at are of this one's memory cgroup. */
	rcu_read_lock();
	slot = mglru_slot_of_folio(pfn_folio(pvmw->pfn));
	rcu_read_unlock();
	if (mglru_wants_exec(slot))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_look_around);
}

static void mglru_aim_look_around(void *past)
{
	static_call_update(mglru_orig_look_around, (typeof(mglru_no_look_around) *)past);
}

struct mglru_hook mglru_hook_look_around =
	MGLRU_HOOK_REDIRECT_RT("lru_gen_look_around", mglru_look_around_handler,
			       mglru_aim_look_around, mglru_look_around_in_flight);

/*
 * Stands in for folio_referenced() as shrink_folio_list() calls it. Counted on
 * every kernel: rmap_walk() has a cond_resched(), and without CONFIG_PREEMPTION
 * RCU tasks takes that for the end of everything before it.
 *
 * Context: the folio is locked and on no list; may reschedule.
 */
static int mglru_referenced(struct folio *folio, int is_locked, struct mem_cgroup *memcg,
			    vm_flags_t *vm_flags)
{
	int ptes;

	mglru_hook_enter(&mglru_referenced_in_flight);
	ptes = static_call(mglru_orig_referenced)(folio, is_locked, memcg, vm_flags);
	/* Otherwise lru_gen_set_refs() will not be called. */
	if (ptes > 0 && !(*vm_flags & VM_LOCKED))
		folio->lru.prev = &mglru_vma_marks[!!(*vm_flags & VM_EXEC)];
	mglru_hook_leave(&mglru_referenced_in_flight);
	return ptes;
}

static void notrace mglru_referenced_handler(unsigned long ip, unsigned long parent_ip,
					     struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	struct folio *folio = (void *)ftrace_regs_get_argument(fregs, 0);
	unsigned long slot;

	/* shrink_active_list() comes with the folio not locked. */
	if (!(int)ftrace_regs_get_argument(fregs, 1) || !folio_is_file_lru(folio))
		return;
	rcu_read_lock();
	slot = mglru_slot_of_folio(folio);
	rcu_read_unlock();
	if (mglru_wants_exec(slot))
		ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_referenced);
}

static void mglru_aim_referenced(void *past)
{
	static_call_update(mglru_orig_referenced, (typeof(mglru_no_referenced) *)past);
}

struct mglru_hook mglru_hook_referenced =
	MGLRU_HOOK_REDIRECT("folio_referenced", mglru_referenced_handler,
			    mglru_aim_referenced, mglru_referenced_in_flight);

#else

/* Never looked for, see mglru_policy_hooks(). */
struct mglru_hook mglru_hook_walk_pud = { .func = "walk_pud_range" };
struct mglru_hook mglru_hook_walk_pmd = { .func = "walk_pmd_range_locked" };
struct mglru_hook mglru_hook_look_around = { .func = "lru_gen_look_around" };
struct mglru_hook mglru_hook_referenced = { .func = "folio_referenced" };

#endif
