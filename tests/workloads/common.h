/* SPDX-License-Identifier: GPL-2.0-only */
/* What the workload programs share: arguments, data pages, randomness, pass boundaries. */
#ifndef WORKLOADS_COMMON_H
#define WORKLOADS_COMMON_H

#include <stdbool.h>
#include <stddef.h>

#define WL_PAGE		4096UL

/* A decimal number with an optional K, M or G; exits naming @option when it is none. */
unsigned long parse_size(const char *option, const char *text);

int open_data(const char *path, unsigned long size);

/*
 * Every page of a data file begins with its own number, scrambled, so that a
 * workload notices a hole, a foreign file or a page read from the wrong place.
 */
unsigned long page_stamp(unsigned long page);
void check_page(const void *addr, unsigned long page);

/* xorshift64*: the same seed gives the same run on every kernel. */
struct rng {
	unsigned long state;
};

void rng_seed(struct rng *rng, unsigned long seed);
unsigned long rng_below(struct rng *rng, unsigned long bound);

/*
 * A pass boundary: prints one line, "at N majflt=.. minflt=.. sys_us=.. user_us=..",
 * where N is the number of passes finished and the counters are the process's
 * own since it started; @extra is appended. With @wait the caller holds the run here
 * until it sends a line on stdin.
 */
void boundary(unsigned int passes, bool wait, const char *extra);

/* Major faults of this process so far. */
long majflt_now(void);

/* Workload B's functions, one a page (textpages.S). */
extern const char text_pages[], text_pages_end[];

#endif /* WORKLOADS_COMMON_H */
