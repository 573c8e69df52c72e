// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workload D: how long does an aging take?
 *
 * Fills anonymous memory, then asks /sys/kernel/debug/lru_gen for one aging of
 * its own memory cgroup after another and times each. Nothing touches the memory
 * meanwhile: after the first few agings all of it is in the oldest generation,
 * and is folded into the next each time. Swap must be usable, or the kernel
 * leaves anonymous memory alone.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <getopt.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/prctl.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

#define LRU_GEN		"/sys/kernel/debug/lru_gen"
#define MAX_AGINGS	1000
#define SETTLE		5	/* seconds, for what the start of a guest leaves to do */

static const char usage[] =
	"--size BYTES [--skip 4] [--agings 9] [--thp]\n"
	"  --skip   agings that are not measured\n"
	"  --thp    in huge pages; without it in none";

/* One memory cgroup on one node, as the file shows it. */
struct lruvec {
	unsigned long long id;
	unsigned int node;
	unsigned long max_seq;
	unsigned long anon;	/* pages in all generations */
};

static char *own_cgroup(void)
{
	char line[4096], *path = NULL;
	FILE *f;

	f = fopen("/proc/self/cgroup", "r");
	if (!f)
		err(1, "/proc/self/cgroup");
	while (!path && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			path = strdup(line + 3);
	}
	fclose(f);
	if (!path)
		errx(1, "this process is in no cgroup v2 group");
	return path;
}

/* What the file says of the cgroup's first node. Kernels differ in their ids. */
static void read_lruvec(const char *cgroup, struct lruvec *lruvec)
{
	unsigned long seq, age, anon, file;
	bool ours = false, found = false;
	unsigned long long id;
	unsigned int node;
	char line[4352];
	char *path;
	int at;
	FILE *f;

	f = fopen(LRU_GEN, "r");
	if (!f)
		err(1, LRU_GEN ": debugfs must be mounted");
	memset(lruvec, 0, sizeof(*lruvec));
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "memcg %llu %n", &id, &at) == 1) {
			path = line + at;
			ours = !strcmp(path, cgroup);
			if (ours)
				lruvec->id = id;
		} else if (ours && sscanf(line, " node %u", &node) == 1) {
			if (found)
				break;
			lruvec->node = node;
		} else if (ours &&
			   sscanf(line, " %lu %lu %lu %lu", &seq, &age, &anon, &file) == 4) {
			found = true;
			lruvec->max_seq = seq;
			lruvec->anon += anon;
		}
	}
	fclose(f);
	if (!found)
		errx(1, LRU_GEN " does not list the cgroup %s", cgroup);
}

static unsigned long now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		err(1, "clock_gettime");
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

static unsigned long age(int fd, const struct lruvec *lruvec)
{
	unsigned long start;
	char command[96];
	int len;

	len = snprintf(command, sizeof(command), "+ %llu %u %lu\n", lruvec->id, lruvec->node,
		       lruvec->max_seq);
	start = now_ns();
	if (write(fd, command, len) != len)
		err(1, "cannot write \"+ %llu %u %lu\" to " LRU_GEN, lruvec->id, lruvec->node,
		    lruvec->max_seq);
	return now_ns() - start;
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
		{ }
	};
	unsigned long size = 0, skip = 4, agings = 9, i, ns;
	static unsigned long times[MAX_AGINGS];
	const unsigned long align = 2 << 20;
	struct lruvec before, after;
	const char *cgroup;
	bool thp = false;
	char *map;
	int opt, fd;

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
	sleep(SETTLE);

	cgroup = own_cgroup();
	fd = open(LRU_GEN, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, LRU_GEN);
	for (i = 0; i < skip + agings; i++) {
		read_lruvec(cgroup, &before);
		if (before.anon < size / WL_PAGE * 9 / 10)
			errx(1, LRU_GEN " has %lu anonymous pages of the cgroup, %lu were expected",
			     before.anon, size / WL_PAGE);
		ns = age(fd, &before);
		read_lruvec(cgroup, &after);
		if (after.max_seq != before.max_seq + 1)
			errx(1, "somebody else has aged the cgroup: it is at %lu, not %lu",
			     after.max_seq, before.max_seq + 1);
		if (i >= skip)
			times[i - skip] = ns;
	}
	qsort(times, agings, sizeof(*times), compare);
	printf("median_us=%lu min_us=%lu max_us=%lu pages=%lu\n", times[agings / 2] / 1000,
	       times[0] / 1000, times[agings - 1] / 1000, after.anon);
	return 0;
}
