// SPDX-License-Identifier: GPL-2.0-only
/*
 * Counts the pages on the LRU lists of a memory cgroup, page by page, from
 * /proc/kpageflags and /proc/kpagecgroup: what the kernel's own sizes must say.
 */
#include <err.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/stat.h>
#include <unistd.h>

#define BATCH		8192
/* Bits of /proc/kpageflags, from the kernel's Documentation/admin-guide/mm/pagemap.rst */
#define KPF_LRU		5
#define KPF_SWAPBACKED	14
#define KPF_UNEVICTABLE	18

static int open_table(const char *path)
{
	int fd = open(path, O_RDONLY);

	if (fd < 0)
		err(1, "%s", path);
	return fd;
}

int main(int argc, char **argv)
{
	static unsigned long flags[BATCH], owner[BATCH];
	unsigned long anon = 0, file = 0, unevictable = 0, at = 0;
	int flags_fd, owner_fd;
	struct stat st;
	ssize_t n, i;

	if (argc != 2)
		errx(2, "usage: CGROUP-DIR");
	if (stat(argv[1], &st))
		err(1, "%s", argv[1]);
	flags_fd = open_table("/proc/kpageflags");
	owner_fd = open_table("/proc/kpagecgroup");

	while ((n = pread(flags_fd, flags, sizeof(flags), at)) > 0) {
		if (pread(owner_fd, owner, n, at) != n)
			err(1, "/proc/kpagecgroup");
		at += n;
		for (i = 0; i < n / (ssize_t)sizeof(*flags); i++) {
			if (owner[i] != st.st_ino || !(flags[i] >> KPF_LRU & 1))
				continue;
			if (flags[i] >> KPF_UNEVICTABLE & 1)
				unevictable++;
			else if (flags[i] >> KPF_SWAPBACKED & 1)
				anon++;
			else
				file++;
		}
	}
	if (n < 0)
		err(1, "/proc/kpageflags");
	printf("anon=%lu file=%lu unevictable=%lu\n", anon, file, unevictable);
	return 0;
}
