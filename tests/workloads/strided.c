// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workload A: map a file larger than the limit and touch 4 KiB every --stride bytes, in whole
 * passes.
 *
 * Readahead brings in pages that nobody touches. A placement that protects
 * them drives out the touched ones, and the passes never converge.
 */
#include <err.h>
#include <errno.h>
#include <getopt.h>
#include <stdlib.h>
#include <string.h>
#include <sys/mman.h>

#include "common.h"

static const char usage[] =
	"FILE --size BYTES [--stride 64K] [--passes 4] [--exec] [--step]\n"
	"  --exec   map it executable: kernels from 7.2 on keep reading around such a mapping\n"
	"  --step   at every pass boundary wait for a line on stdin";

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "stride", required_argument, NULL, 't' },
		{ "passes", required_argument, NULL, 'p' },
		{ "exec", no_argument, NULL, 'x' },
		{ "step", no_argument, NULL, 'w' },
		{ }
	};
	unsigned long size = 0, stride = 64 << 10, passes = 4, pass, off;
	int prot = PROT_READ, opt, fd;
	bool step = false;
	const char *map;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size("--size", optarg);
			break;
		case 't':
			stride = parse_size("--stride", optarg);
			break;
		case 'p':
			passes = parse_size("--passes", optarg);
			break;
		case 'x':
			prot |= PROT_EXEC;
			break;
		case 'w':
			step = true;
			break;
		default:
			errx(2, "usage: %s", usage);
		}
	}
	if (optind + 1 != argc || !size || !passes)
		errx(2, "usage: %s", usage);
	if (!stride || stride % WL_PAGE || size % WL_PAGE)
		errx(1, "--size and --stride must be multiples of %lu", WL_PAGE);

	fd = open_data(argv[optind], size);
	map = mmap(NULL, size, prot, MAP_SHARED, fd, 0);
	if (map == MAP_FAILED)
		err(1, "mmap %s", argv[optind]);

	boundary(0, step, "");
	for (pass = 1; pass <= passes; pass++) {
		for (off = 0; off < size; off += stride)
			check_page(map + off, off / WL_PAGE);
		boundary(pass, step, "");
	}
	return 0;
}
