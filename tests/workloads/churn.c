// SPDX-License-Identifier: GPL-2.0-only
/*
 * Keeps the lists of its memory cgroup moving until it is killed: touches random
 * anonymous pages and pages of a file, gives ranges back, and forks children that
 * share, copy and give up all of it.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>
#include <sys/wait.h>
#include <unistd.h>

#include "common.h"

static const char usage[] = "FILE --size BYTES [--seed 1]\n"
	"  --size   of the anonymous memory, and of what is used of the file";

static void touch(char *anon, const char *file, unsigned long pages, struct rng *rng,
		  unsigned long times)
{
	while (times--) {
		unsigned long page = rng_below(rng, pages);

		/* A quarter of the pages gets three quarters of the accesses. */
		if (rng_below(rng, 3))
			page /= 4;
		anon[page * WL_PAGE]++;
		page = rng_below(rng, pages);
		check_page(file + page * WL_PAGE, page);
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "seed", required_argument, NULL, 'r' },
		{ }
	};
	unsigned long size = 0, seed = 1, pages, round;
	const char *file;
	struct rng rng;
	char *anon;
	pid_t pid;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size("--size", optarg);
			break;
		case 'r':
			seed = parse_size("--seed", optarg);
			break;
		default:
			errx(2, "usage: %s", usage);
		}
	}
	pages = size / WL_PAGE;
	if (optind + 1 != argc || pages < 64)
		errx(2, "usage: %s", usage);

	rng_seed(&rng, seed);
	anon = mmap(NULL, size, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	file = mmap(NULL, size, PROT_READ, MAP_SHARED, open_data(argv[optind], size), 0);
	if (anon == MAP_FAILED || file == MAP_FAILED)
		err(1, "mmap");

	for (round = 0;; round++) {
		touch(anon, file, pages, &rng, 200);
		/* Leave time for those who reclaim and age. */
		usleep(2000);
		if (round % 16 == 0 &&
		    madvise(anon + rng_below(&rng, pages - 32) * WL_PAGE, 32 * WL_PAGE,
			    MADV_DONTNEED))
			err(1, "madvise");
		if (round % 8)
			continue;
		pid = fork();
		if (pid < 0)
			err(1, "fork");
		if (!pid) {
			touch(anon, file, pages, &rng, 50);
			_exit(0);
		}
		if (waitpid(pid, NULL, 0) != pid)
			err(1, "waitpid");
	}
}
