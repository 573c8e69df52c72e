/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Per-cgroup state: what was asked for, what is in force, and the lookup from
 * a folio on the memory paths. The model is told in memcg.c.
 */
#ifndef MGLRU_MEMCG_H
#define MGLRU_MEMCG_H

#include <linux/kobject.h>
#include <linux/list.h>
#include <linux/llist.h>
#include <linux/rcupdate.h>

#include "compat.h"
#include "credit.h"
#include "stats.h"

/* One slot for each memcg id; MEM_CGROUP_ID_MAX is private to memcontrol.c. */
#define MGLRU_NR_SLOTS	(USHRT_MAX + 1)

/**
 * struct mglru_memcg - what we know of one memory cgroup
 * @memcg: the cgroup, to be compared only: what the slot's owner must be
 * @counters: see stats.h
 * @credit: see credit.h
 * @id: index of the slot
 * @asked: policy value or MGLRU_INHERIT; tree lock
 * @asked_aging: the same for MGLRU_AGING_BATCHED, which @asked does not have
 * @effective: policy value in force, aging included; tree lock to write
 * @changes: how often @effective changed since the cgroup appeared
 * @dead: the cgroup has gone offline; slot lock
 * @linked: in the tree; tree lock
 * @css: the cgroup's subsystem state, valid until @dead
 * @parent: NULL for the root and for what has left the tree
 * @children: list of @sibling
 * @sibling: in @parent's @children; life lock and tree lock to write
 * @kobj: the directory; holds the memory until it is released
 * @dead_node: in the list of the dead, waiting for the reaper
 * @rcu: frees the memory when no reader can have it
 *
 * Aligned so that the low MGLRU_POLICY_BITS of its address are zero; what the
 * memory paths read is the first cache line.
 */
struct mglru_memcg {
	struct mem_cgroup *memcg;
	struct mglru_counters __percpu *counters;
	struct mglru_credit credit;
	unsigned short id;
	u8 asked;
	u8 asked_aging;
	u8 effective;
	bool dead;
	bool linked;
	unsigned long changes;
	struct cgroup_subsys_state *css;

	struct mglru_memcg *parent;
	struct list_head children;
	struct list_head sibling;
	struct kobject kobj;
	struct llist_node dead_node;
	struct rcu_head rcu;
} __aligned(1 << MGLRU_POLICY_BITS);

extern unsigned long *mglru_slots;

/* What a slot holds besides the address. */
#define mglru_slot_policy(slot)	((unsigned int)((slot) & MGLRU_POLICY_MASK))
#define mglru_slot_state(slot)	\
	((struct mglru_memcg *)((slot) & ~(unsigned long)MGLRU_POLICY_MASK))

/**
 * mglru_slot_of - the policy that a memory cgroup is under, and its state
 * @memcg: a cgroup that RCU keeps from being freed
 *
 * Context: any; RCU read side, which also keeps what is returned.
 * Return: address and policy in one word, see mglru_slot_state() and
 * mglru_slot_policy(). 0 stands for original.
 */
static __always_inline unsigned long mglru_slot_of(struct mem_cgroup *memcg)
{
	unsigned long slot;

	/* Pairs with smp_store_release() in mglru_slot_publish(). */
	slot = READ_ONCE(mglru_slots[mglru_memcg_id(memcg)]);
	if (!mglru_slot_policy(slot))
		return 0;
	/*
	 * The id may have been given back and taken by a stranger since we
	 * read it. An address cannot: memory of a memcg is freed after a grace
	 * period, and we are inside one.
	 */
	if (unlikely(mglru_slot_state(slot)->memcg != memcg))
		return 0;
	return slot;
}

/**
 * mglru_slot_of_folio - the same for the memory cgroup that a folio belongs to
 * @folio: a folio that the caller keeps, by a reference or a page table lock
 *
 * Context: any; RCU read side. folio_memcg() asks for it since 7.2, where the
 * folio points to an objcg whose memcg can change under it.
 */
static __always_inline unsigned long mglru_slot_of_folio(struct folio *folio)
{
	struct mem_cgroup *memcg = folio_memcg(folio);

	return likely(memcg) ? mglru_slot_of(memcg) : 0;
}

int mglru_memcg_init(void);
void mglru_memcg_disarm(void);
void mglru_memcg_exit(void);

struct mglru_memcg *mglru_memcg_of(struct cgroup_subsys_state *css);
struct mglru_memcg *mglru_memcg_new(struct cgroup_subsys_state *css,
				    struct mglru_memcg *parent);
struct mglru_memcg *mglru_memcg_kill(struct mem_cgroup *memcg);
void mglru_memcg_unlink(struct mglru_memcg *state);
void mglru_memcg_release(struct mglru_memcg *state);

int mglru_memcg_set(struct mglru_memcg *state, u8 *asked, unsigned int value);
int mglru_memcg_set_root(unsigned int policy);
void mglru_memcg_settle(void);
bool mglru_memcg_is_root(const struct mglru_memcg *state);
unsigned int mglru_memcg_users(unsigned int hook_mask);

#endif /* MGLRU_MEMCG_H */
