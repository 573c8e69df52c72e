// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workload C: N sequential readers in turn, a page each.
 *
 * A page read ahead for one reader waits until the other N - 1 had their turns. A placement that
 * starts it too cold evicts it before its turn comes.
 *
 * Each reader has its own descriptor (so its own readahead state) and maps only its part: N
 * mappings of the whole file would make every reverse map walk visit N VMAs and hide the effect.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

static const char usage[] =
	"FILE --size BYTES [--readers 40] [--warm 10000] [--pages 20000] [--passes 1] [--run 2M] [--seed 1] [--step]\n"
	"  pass 1 is the --warm pages, each pass after it --pages (all readers together)\n"
	"  --step   at every pass boundary wait for a line on stdin";

struct reader {
	const char *map;
	unsigned long first;		/* its part's first page in the file */
	unsigned long next;		/* the page it reads next, within its part */
	unsigned long left;		/* pages left of its run */
};

struct work {
	struct reader *readers;
	unsigned long nr, part, run;	/* part and run in pages */
	unsigned long turn;		/* goes on over pass boundaries */
	struct rng rng;
};

static void map_readers(struct work *w, const char *path, unsigned long size)
{
	unsigned long i;

	w->readers = calloc(w->nr, sizeof(*w->readers));
	if (!w->readers)
		errx(1, "out of memory");
	for (i = 0; i < w->nr; i++) {
		struct reader *r = &w->readers[i];
		int fd = open_data(path, size);

		r->first = i * w->part;
		r->map = mmap(NULL, w->part * WL_PAGE, PROT_READ, MAP_SHARED, fd,
			      r->first * WL_PAGE);
		if (r->map == MAP_FAILED)
			err(1, "mmap %s", path);
	}
}

static void read_pages(struct work *w, unsigned long pages)
{
	while (pages--) {
		struct reader *r = &w->readers[w->turn++ % w->nr];

		if (!r->left) {
			r->next = rng_below(&w->rng, w->part - w->run + 1);
			r->left = w->run;
		}
		check_page(r->map + r->next * WL_PAGE, r->first + r->next);
		r->next++;
		r->left--;
	}
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "readers", required_argument, NULL, 'n' },
		{ "warm", required_argument, NULL, 'w' },
		{ "pages", required_argument, NULL, 'p' },
		{ "passes", required_argument, NULL, 'P' },
		{ "run", required_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 'S' },
		{ "step", no_argument, NULL, 't' },
		{ }
	};
	unsigned long size = 0, warm = 10000, pages = 20000, passes = 1, seed = 1, pass;
	struct work w = { .nr = 40, .run = (2 << 20) / WL_PAGE };
	bool step = false;
	int opt;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size("--size", optarg);
			break;
		case 'n':
			w.nr = parse_size("--readers", optarg);
			break;
		case 'w':
			warm = parse_size("--warm", optarg);
			break;
		case 'p':
			pages = parse_size("--pages", optarg);
			break;
		case 'P':
			passes = parse_size("--passes", optarg);
			break;
		case 'r':
			w.run = parse_size("--run", optarg) / WL_PAGE;
			break;
		case 'S':
			seed = parse_size("--seed", optarg);
			break;
		case 't':
			step = true;
			break;
		default:
			errx(2, "usage: %s", usage);
		}
	}
	if (optind + 1 != argc || !size || !w.nr || !pages || !passes || !w.run)
		errx(2, "usage: %s", usage);
	w.part = size / WL_PAGE / w.nr;
	if (w.part < w.run)
		errx(1, "a part of %lu KiB (--size / --readers) is smaller than a --run of %lu KiB",
		     w.part * 4, w.run * 4);

	rng_seed(&w.rng, seed);
	map_readers(&w, argv[optind], size);

	boundary(0, step, "");
	read_pages(&w, warm);
	boundary(1, step, "");
	for (pass = 1; pass <= passes; pass++) {
		read_pages(&w, pages);
		boundary(pass + 1, step, "");
	}
	return 0;
}
