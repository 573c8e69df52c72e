/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Policies by name, what each does in the terms of mglru_policy.h, and what
 * each needs from which hook.
 */
#ifndef MGLRU_POLICY_TABLE_H
#define MGLRU_POLICY_TABLE_H

#include "compat.h"
#include "hook.h"

/* The hooks on memory paths, each attached only while a cgroup needs it. */
enum mglru_hook_id {
	MGLRU_HOOK_ADD,		/* folio_add_lru() */
	MGLRU_HOOK_LRU_ADD,	/* lru_add() */
	MGLRU_HOOK_REFAULT,	/* workingset_refault() */
	MGLRU_HOOK_READAHEAD,	/* page_cache_async_ra() */
	MGLRU_HOOK_SET_REFS,	/* lru_gen_set_refs() */
	MGLRU_HOOK_UPDATE,	/* walk_update_folio() */
	MGLRU_HOOK_WALK_PUD,	/* walk_pud_range() */
	MGLRU_HOOK_WALK_PMD,	/* walk_pmd_range_locked() */
	MGLRU_HOOK_LOOK_AROUND,	/* lru_gen_look_around() */
	MGLRU_HOOK_REFERENCED,	/* folio_referenced() */
	MGLRU_HOOK_AGING,	/* inc_max_seq() */
	MGLRU_NR_HOOKS,
};

/**
 * struct mglru_policy_desc - one placement, a table entry
 * @name: the word written to mglru.policy; NULL ends nothing, entries are
 *	indexed by &enum mglru_placement
 * @fault: how a folio added in a fault is marked
 * @add: in which generation lru_add() lets a folio start
 * @refs: what the second access through page tables does
 */
struct mglru_policy_desc {
	const char *name;
	enum mglru_fault_rule fault;
	enum mglru_add_rule add;
	enum mglru_refs_rule refs;
};

/* Room for any policy in words, its terminating NUL included. */
#define MGLRU_POLICY_NAME	64

extern const struct mglru_policy_desc mglru_policies[MGLRU_PLACEMENT_MASK + 1];
extern struct mglru_hook *const mglru_hooks[MGLRU_NR_HOOKS];

static inline const struct mglru_policy_desc *mglru_policy_desc(unsigned int policy)
{
	return &mglru_policies[policy & MGLRU_PLACEMENT_MASK];
}

int mglru_policy_find_hooks(void);
unsigned int mglru_policy_hooks(unsigned int policy);
int mglru_policy_word(unsigned int nth);
int mglru_policy_parse(const char *buf, size_t len, const char *where);
int mglru_aging_parse(const char *buf, size_t len, const char *where);
const char *mglru_aging_name(unsigned int policy);
const char *mglru_policy_name(unsigned int policy, char *buf, size_t size);
const char *mglru_policy_unavailable(unsigned int policy, char *buf, size_t size);

#endif /* MGLRU_POLICY_TABLE_H */
