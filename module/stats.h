/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Counters per memory cgroup and CPU. Counting is one increment of the CPU's
 * own cache line; reading sums over all CPUs and never slows the path.
 */
#ifndef MGLRU_STATS_H
#define MGLRU_STATS_H

#include <linux/percpu.h>

#include "mglru_policy.h"

/* Less than 200 bytes per CPU; a memory cgroup's own counters take kilobytes. */
struct mglru_counters {
	unsigned long count[MGLRU_NR_STATS];
};

/**
 * mglru_count - count a decision
 * @counters: of the folio's memory cgroup
 * @stat: which counter
 *
 * Context: any. @counters must be kept alive by the caller (RCU).
 */
static inline void mglru_count(struct mglru_counters __percpu *counters,
			       enum mglru_stat stat)
{
	this_cpu_inc(counters->count[stat]);
}

/**
 * mglru_count_many - count decisions of one kind
 * @counters: of the folios' memory cgroup
 * @stat: which counter
 * @nr: how many
 *
 * Context: as mglru_count().
 */
static inline void mglru_count_many(struct mglru_counters __percpu *counters,
				    enum mglru_stat stat, unsigned long nr)
{
	this_cpu_add(counters->count[stat], nr);
}

const char *mglru_stat_name(enum mglru_stat stat);
unsigned long mglru_stat_read(struct mglru_counters __percpu *counters,
			      enum mglru_stat stat);

#endif /* MGLRU_STATS_H */
