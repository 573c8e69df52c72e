// SPDX-License-Identifier: GPL-2.0-only
/*
 * mkdata FILE SIZE: fill a file with stamped pages.
 *
 * Holes and zeroes could be served without the disk, so every block is written. O_DIRECT, because
 * copying 600 MiB through the page cache of an emulated machine takes
 * longer than the experiment. The file gets its name when it is whole: a file that exists is good.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "common.h"

#define CHUNK	(1024 * 1024UL)

static void write_all(int fd, const char *buf, size_t len, const char *path)
{
	while (len) {
		ssize_t n = write(fd, buf, len);

		if (n < 0 && errno == EINTR)
			continue;
		if (n <= 0)
			errx(1, "%s: %s", path, n ? strerror(errno) : "nothing written");
		buf += n;
		len -= n;
	}
}

int main(int argc, char **argv)
{
	unsigned long size, off, page = 0;
	char *buf, *tmp;
	struct rng rng;
	size_t i, len;
	int fd;

	if (argc != 3)
		errx(2, "usage: FILE SIZE");
	size = parse_size("SIZE", argv[2]);
	if (!size || size % WL_PAGE)
		errx(1, "SIZE %s is not a multiple of %lu", argv[2], WL_PAGE);
	if (asprintf(&tmp, "%s.part", argv[1]) < 0 || posix_memalign((void **)&buf, WL_PAGE, CHUNK))
		errx(1, "out of memory");

	fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC | O_DIRECT, 0644);
	if (fd < 0 && errno == EINVAL)
		fd = open(tmp, O_WRONLY | O_CREAT | O_TRUNC, 0644);
	if (fd < 0)
		err(1, "%s", tmp);

	rng_seed(&rng, size);
	for (i = 0; i < CHUNK; i++)
		buf[i] = rng_below(&rng, 256);
	for (off = 0; off < size; off += len) {
		len = size - off < CHUNK ? size - off : CHUNK;
		for (i = 0; i < len; i += WL_PAGE, page++)
			*(unsigned long *)(buf + i) = page_stamp(page);
		write_all(fd, buf, len, tmp);
	}
	if (fsync(fd) || close(fd))
		err(1, "%s", tmp);
	if (rename(tmp, argv[1]))
		err(1, "%s", argv[1]);
	return 0;
}
