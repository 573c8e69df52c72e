// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workload D: how long does an aging take?
 *
 * Fills anonymous memory, then asks /sys/kernel/debug/lru_gen for one aging of
 * its own memory cgroup after another and times each. Nothing touches the memory
 * meanwhile: after the first few agings all of it is in the oldest generation,
 * and is folded into the next each time. Swap must be usable, or the kernel
 * leaves anonymous memory alone.
 *
 * With --late, a real-time task sleeps for short times on the same CPU
 * meanwhile: how much later than asked for it woke up says for how long agings
 * held the CPU at a time, that is, interrupts or preemption off.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <sched.h>
#include <signal.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "common.h"
#include "lrugen.h"

#define MAX_AGINGS	1000
#define SETTLE		5	/* seconds, for what the start of a guest leaves to do */
#define NAP_NS		100000

static const char usage[] =
	"--size BYTES [--skip 4] [--agings 5] [--thp] [--late]\n"
	"  --skip   agings that are not measured\n"
	"  --thp    in huge pages; without it in none\n"
	"  --late   also print the longest time for which a real-time task could not run";

static void watch(unsigned long *late)
{
	const struct sched_param fifo = { .sched_priority = 50 };
	struct timespec ts;
	unsigned long due, after;

	if (prctl(PR_SET_PDEATHSIG, SIGKILL) || sched_setscheduler(0, SCHED_FIFO, &fifo))
		err(1, "sched_setscheduler");
	due = now_ns();
	for (;;) {
		due += NAP_NS;
		if (due < now_ns())
			due = now_ns() + NAP_NS;
		ts.tv_sec = due / 1000000000;
		ts.tv_nsec = due % 1000000000;
		clock_nanosleep(CLOCK_MONOTONIC, TIMER_ABSTIME, &ts, NULL);
		after = now_ns() - due;
		if (after > __atomic_load_n(late, __ATOMIC_RELAXED))
			__atomic_store_n(late, after, __ATOMIC_RELAXED);
	}
}

static int compare(const void *a, const void *b)
{
	const unsigned long *x = a, *y = b;

	return (*x > *y) - (*x < *y);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "skip", required_argument, NULL, 'k' },
		{ "agings", required_argument, NULL, 'n' },
		{ "thp", no_argument, NULL, 't' },
		{ "late", no_argument, NULL, 'l' },
		{ }
	};
	unsigned long size = 0, skip = 4, agings = 5, i, ns;
	static unsigned long times[MAX_AGINGS];
	const unsigned long align = 2 << 20;
	unsigned long *late = NULL;
	bool thp = false, want_late = false;
	struct lruvec lruvec;
	pid_t watcher = 0;
	char *map;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size("--size", optarg);
			break;
		case 'k':
			skip = parse_size("--skip", optarg);
			break;
		case 'n':
			agings = parse_size("--agings", optarg);
			break;
		case 't':
			thp = true;
			break;
		case 'l':
			want_late = true;
			break;
		default:
			errx(2, "usage: %s", usage);
		}
	}
	if (optind != argc || !size || !agings)
		errx(2, "usage: %s", usage);
	if (agings > MAX_AGINGS)
		errx(1, "--agings: at most %d", MAX_AGINGS);

	/* run-in-cgroup has switched them off. */
	if (thp && prctl(PR_SET_THP_DISABLE, 0, 0, 0, 0))
		err(1, "prctl(PR_SET_THP_DISABLE)");
	map = mmap(NULL, size + align, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (map == MAP_FAILED)
		err(1, "mmap %lu bytes", size);
	map += -(unsigned long)map % align;
	if (thp && madvise(map, size, MADV_HUGEPAGE))
		err(1, "madvise(MADV_HUGEPAGE)");
	memset(map, 0x55, size);
	if (want_late) {
		late = mmap(NULL, WL_PAGE, PROT_READ | PROT_WRITE, MAP_SHARED | MAP_ANONYMOUS,
			    -1, 0);
		if (late == MAP_FAILED)
			err(1, "mmap");
		watcher = fork();
		if (!watcher)
			watch(late);
		if (watcher < 0)
			err(1, "fork");
	}
	sleep(SETTLE);

	for (i = 0; i < skip + agings; i++) {
		lrugen_read(&lruvec);
		if (lruvec.anon < size / WL_PAGE * 9 / 10)
			errx(1, LRU_GEN " has %lu anonymous pages of the cgroup, %lu were expected",
			     lruvec.anon, size / WL_PAGE);
		if (late && i <= skip)
			__atomic_store_n(late, 0, __ATOMIC_RELAXED);
		ns = lrugen_age();
		if (i >= skip)
			times[i - skip] = ns;
	}
	qsort(times, agings, sizeof(*times), compare);
	printf("median_us=%lu min_us=%lu max_us=%lu pages=%lu", times[agings / 2] / 1000,
	       times[0] / 1000, times[agings - 1] / 1000, lruvec.anon);
	if (late) {
		if (waitpid(watcher, NULL, WNOHANG))
			errx(1, "the real-time task has ended early");
		printf(" late_us=%lu", __atomic_load_n(late, __ATOMIC_RELAXED) / 1000);
		kill(watcher, SIGKILL);
	}
	puts("");
	return 0;
}
