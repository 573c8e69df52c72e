// SPDX-License-Identifier: GPL-2.0-only
/*
 * Read the counters. They only grow; a reader sees each at some moment during
 * the call, so sums of different counters may be off by what went on meanwhile.
 */
#include <linux/cpumask.h>

#include "stats.h"

static const char *const mglru_stat_names[MGLRU_NR_STATS] = {
#define X(id, name) [MGLRU_STAT_##id] = (name),
	MGLRU_STATS(X)
#undef X
};

/**
 * mglru_stat_name - the key of a counter in mglru.stat
 * @stat: which
 */
const char *mglru_stat_name(enum mglru_stat stat)
{
	return mglru_stat_names[stat];
}

/**
 * mglru_stat_read - sum a counter over all CPUs that can exist
 * @counters: of one memory cgroup
 * @stat: which
 *
 * Context: any. CPUs that went offline keep their part.
 * Return: its value.
 */
unsigned long mglru_stat_read(struct mglru_counters __percpu *counters,
			      enum mglru_stat stat)
{
	unsigned long sum = 0;
	int cpu;

	for_each_possible_cpu(cpu)
		sum += READ_ONCE(per_cpu_ptr(counters, cpu)->count[stat]);
	return sum;
}
