// SPDX-License-Identifier: GPL-2.0-only
/*
 * In which order does a generation lie after folding? Reclaim takes from the
 * cold end, so pages are made that differ in their past, folded, and evicted a
 * few at a time; which are gone first, /proc/self/pagemap tells.
 *
 *  cold	Pages that nobody touches again, folded three times, and more of
 *		them than one hold of the lock folds. They were added by
 *		ascending address, so the low ones are the coldest.
 *
 *  hot		Some pages are accessed between two agings and promoted by the
 *		page table walk while they lie in the second oldest generation;
 *		others are added to the generation that those are promoted to,
 *		and not touched again. Then the aging comes that folds the list
 *		that the promoted pages still lie in, which moves them to their
 *		generation: on which side of the others?
 *
 * Generations, in the second case, youngest last ("H" hot, "o" others, "r" rest;
 * the walk has marked those in parentheses, who lie elsewhere):
 *
 *	after filling and two agings, H accessed before the second:
 *				r H are in one list, H promoted
 *	aging			. r H . .	H and r are moved to their own
 *	H accessed, aging	. rH . (H) .	r is folded to where H lies
 *	o added, aging		. r oH . .	r is folded, H is moved
 *	aging			. roH . .
 *
 * Prints how many pages of each kind are among the first third that went.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"
#include "lrugen.h"

/*
 * Many: eviction goes on while what it has sent to swap is being written, some
 * hundred pages further than it was asked to.
 */
#define COLD	16384UL
#define REST	4096UL
#define HOT	6144UL
#define OTHERS	6144UL

static const char usage[] = "cold|hot";

static char *fresh(unsigned long pages)
{
	char *map = mmap(NULL, pages * WL_PAGE, PROT_READ | PROT_WRITE,
			 MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	unsigned long i;

	if (map == MAP_FAILED)
		err(1, "mmap");
	for (i = 0; i < pages; i++)
		map[i * WL_PAGE] = 1;
	return map;
}

static void access_all(char *map, unsigned long pages)
{
	unsigned long i;

	for (i = 0; i < pages; i++)
		map[i * WL_PAGE]++;
}

/* As if the pages had not been accessed since they were added. */
static void forget_accesses(void)
{
	int fd = open("/proc/self/clear_refs", O_WRONLY);

	if (fd < 0 || write(fd, "1", 1) != 1)
		err(1, "/proc/self/clear_refs");
	close(fd);
}

static unsigned long evicted(const char *map, unsigned long pages)
{
	static unsigned long entries[COLD];
	unsigned long i, n = 0;
	int fd = open("/proc/self/pagemap", O_RDONLY);
	off_t at = (unsigned long)map / WL_PAGE * sizeof(*entries);

	if (fd < 0 || pread(fd, entries, pages * sizeof(*entries), at) !=
		      (ssize_t)(pages * sizeof(*entries)))
		err(1, "/proc/self/pagemap");
	close(fd);
	for (i = 0; i < pages; i++)
		n += !(entries[i] >> 63);	/* not present: in swap */
	return n;
}

/* Evict until @share of @a and @b together are gone. */
static void evict(const char *a, unsigned long nr_a, const char *b, unsigned long nr_b)
{
	unsigned long gone, before = 0, stuck = 0;

	do {
		lrugen_evict_anon(32);
		gone = evicted(a, nr_a) + evicted(b, nr_b);
		stuck = gone == before ? stuck + 1 : 0;
		before = gone;
		if (stuck == 200)
			errx(1, "only %lu of %lu pages could be evicted", gone, nr_a + nr_b);
	} while (gone < (nr_a + nr_b) / 3);
}

static void age(unsigned int times)
{
	while (times--)
		lrugen_age();
}

static void order_cold(void)
{
	char *low = fresh(COLD), *high = low + COLD / 2 * WL_PAGE;

	/* 7.2 would promote them once for having been faulted in. */
	forget_accesses();
	age(5);
	evict(low, COLD / 2, high, COLD / 2);
	printf("low=%lu high=%lu\n", evicted(low, COLD / 2), evicted(high, COLD / 2));
}

static void order_hot(void)
{
	char *rest = fresh(REST), *warm = fresh(HOT), *others;

	age(1);
	access_all(warm, HOT);
	age(2);
	access_all(warm, HOT);
	age(1);
	others = fresh(OTHERS);
	forget_accesses();
	age(2);
	evict(others, OTHERS, warm, HOT);
	printf("hot=%lu others=%lu rest=%lu\n", evicted(warm, HOT),
	       evicted(others, OTHERS), evicted(rest, REST));
}

int main(int argc, char **argv)
{
	if (argc == 2 && !strcmp(argv[1], "cold"))
		order_cold();
	else if (argc == 2 && !strcmp(argv[1], "hot"))
		order_hot();
	else
		errx(2, "usage: %s", usage);
	return 0;
}
