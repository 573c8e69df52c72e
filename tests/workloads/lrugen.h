/* SPDX-License-Identifier: GPL-2.0-only */
/* The multi-gen LRU of this process's memory cgroup, through /sys/kernel/debug/lru_gen. */
#ifndef WORKLOADS_LRUGEN_H
#define WORKLOADS_LRUGEN_H

#define LRU_GEN		"/sys/kernel/debug/lru_gen"

/* What the file shows of a cgroup on its first node. */
struct lruvec {
	unsigned long long id;	/* of the cgroup; of another kind in every kernel */
	unsigned int node;
	unsigned long min_seq;
	unsigned long max_seq;
	unsigned long anon;	/* pages in all generations */
	unsigned long file;
};

/* These exit, with a reason, when they fail. */
void lrugen_read(struct lruvec *lruvec);
/* One aging; its time in ns. */
unsigned long lrugen_age(void);
/* The same, unless somebody else is faster. */
void lrugen_try_age(void);
/* Evict about @nr anonymous pages of the oldest generation. */
void lrugen_evict_anon(unsigned long nr);

unsigned long now_ns(void);

#endif /* WORKLOADS_LRUGEN_H */
