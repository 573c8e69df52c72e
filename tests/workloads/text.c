// SPDX-License-Identifier: GPL-2.0-only
/*
 * Workload B: a program whose text, one function a page, is called in random order, with a file
 * read() between passes.
 *
 * The text has to survive the read() stream. What matters is how it came into the page cache: by
 * readahead(2) (--readahead), because the binary was just written (the caller's doing), or by
 * faults on demand.
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
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include "common.h"

static const char usage[] =
	"PRESSURE-FILE --size BYTES [--passes 4] [--readahead] [--seed 1] [--step]\n"
	"  --size       bytes to read() after every pass but the last, each time the next ones of\n"
	"               PRESSURE-FILE\n"
	"  --readahead  bring the whole binary in by readahead(2) first\n"
	"  --step       at every pass boundary wait for a line on stdin";

static unsigned long text_page_result(unsigned long page, unsigned long arg)
{
	unsigned long v = (arg * 3 + page) ^ (page * 40507 + 1);
	unsigned int n = page % 63 + 1;

	return v << n | v >> (64 - n);
}

static void call_text(struct rng *rng)
{
	static unsigned short order[TEXT_PAGES];
	unsigned long i, j;

	for (i = 0; i < TEXT_PAGES; i++) {
		j = rng_below(rng, i + 1);
		order[i] = order[j];
		order[j] = i;
	}
	for (i = 0; i < TEXT_PAGES; i++) {
		unsigned long page = order[i];
		unsigned long (*fn)(unsigned long arg);

		fn = (void *)(text_pages + page * WL_PAGE);
		if (fn(i) != text_page_result(page, i))
			errx(1, "the function on text page %lu returned a wrong value", page);
	}
}

static void read_pressure(int fd, unsigned long start, unsigned long size)
{
	static unsigned long buf[(128 << 10) / sizeof(unsigned long)];
	unsigned long off = start, end = start + size, i;

	while (off < end) {
		size_t want = end - off < sizeof(buf) ? end - off : sizeof(buf);
		ssize_t n = pread(fd, buf, want, off);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0 || n % WL_PAGE)
			errx(1, "reading the pressure file: %s",
			     n < 0 ? strerror(errno) : "short read");
		for (i = 0; i < (unsigned long)n; i += WL_PAGE)
			check_page((char *)buf + i, (off + i) / WL_PAGE);
		off += n;
	}
}

static unsigned long text_resident(void)
{
	static unsigned char vec[TEXT_PAGES];
	unsigned long i, resident = 0;

	if (mincore((void *)text_pages, TEXT_PAGES * WL_PAGE, vec))
		err(1, "mincore");
	for (i = 0; i < TEXT_PAGES; i++)
		resident += vec[i] & 1;
	return resident;
}

/* One call reads no more than the device's window, and none waits for the disk. */
static void readahead_text(void)
{
	const struct timespec tick = { .tv_nsec = 10000000 };
	int fd = open("/proc/self/exe", O_RDONLY | O_CLOEXEC), tries = 0;
	struct stat st;
	off_t off;

	if (fd < 0 || fstat(fd, &st))
		err(1, "/proc/self/exe");
	for (off = 0; off < st.st_size; off += 128 << 10)
		if (readahead(fd, off, 128 << 10))
			err(1, "readahead");
	while (text_resident() < TEXT_PAGES) {
		if (++tries > 1000)
			errx(1, "only %lu of %d text pages came in by readahead; raise the limit",
			     text_resident(), TEXT_PAGES);
		nanosleep(&tick, NULL);
	}
	close(fd);
}

int main(int argc, char **argv)
{
	static const struct option options[] = {
		{ "size", required_argument, NULL, 's' },
		{ "passes", required_argument, NULL, 'p' },
		{ "readahead", no_argument, NULL, 'r' },
		{ "seed", required_argument, NULL, 'S' },
		{ "step", no_argument, NULL, 't' },
		{ }
	};
	unsigned long size = 0, passes = 4, seed = 1, resident, pass;
	bool ra = false, step = false;
	long before, faults = 0;
	struct rng rng;
	char extra[96];
	int opt, fd;

	while ((opt = getopt_long(argc, argv, "", options, NULL)) != -1) {
		switch (opt) {
		case 's':
			size = parse_size("--size", optarg);
			break;
		case 'p':
			passes = parse_size("--passes", optarg);
			break;
		case 'r':
			ra = true;
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
	if (optind + 1 != argc || !size || size % WL_PAGE || !passes)
		errx(2, "usage: %s", usage);
	if (text_pages_end - text_pages != TEXT_PAGES * (long)WL_PAGE)
		errx(1, "the text is %td bytes, not %d pages: built wrongly",
		     text_pages_end - text_pages, TEXT_PAGES);

	rng_seed(&rng, seed);
	fd = open_data(argv[optind], size * (passes - 1));
	if (ra)
		readahead_text();
	resident = text_resident();

	for (pass = 0; ; pass++) {
		snprintf(extra, sizeof(extra), "text_majflt=%ld text_resident=%lu",
			 faults, resident);
		boundary(pass, step, extra);
		if (pass == passes)
			return 0;
		if (pass)
			read_pressure(fd, (pass - 1) * size, size);
		resident = text_resident();
		before = majflt_now();
		call_text(&rng);
		faults += majflt_now() - before;
	}
}
