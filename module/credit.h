/* SPDX-License-Identifier: GPL-2.0-only */
/* The credit of readahead_credit. The model is told in credit.c. */
#ifndef MGLRU_CREDIT_STORE_H
#define MGLRU_CREDIT_STORE_H

#include <linux/cache.h>

#include "compat.h"
#include "hook.h"
#include "mglru_credit.h"
#include "stats.h"

/* A pool, on a cache line of its own. */
struct mglru_pool {
	unsigned long word;
} ____cacheline_aligned;

/**
 * struct mglru_credit - the credit of a memory cgroup
 * @pockets: one a CPU
 * @pools: one a node
 * @life: counts resets: what is in a pocket since before is void
 * @used: something was put into a pool since the last reset
 */
struct mglru_credit {
	struct mglru_pocket __percpu *pockets;
	struct mglru_pool *pools;
	atomic_long_t life;
	bool used;
};

struct mglru_memcg;

extern struct mglru_hook mglru_hook_refault;
extern struct mglru_hook mglru_hook_readahead;

void mglru_credit_find(void);
bool mglru_credit_knows_recent(void);

int mglru_credit_init(struct mglru_credit *credit);
void mglru_credit_free(struct mglru_credit *credit);
bool mglru_credit_spend(struct mglru_memcg *state, struct folio *folio);
void mglru_credit_reset(struct mglru_memcg *state);
void mglru_credit_read(struct mglru_memcg *state, unsigned long *balance,
		       unsigned long *unseen);

#endif /* MGLRU_CREDIT_STORE_H */
