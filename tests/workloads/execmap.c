// SPDX-License-Identifier: GPL-2.0-only
/*
 * execmap FILE LAYOUT: map a file executable and plain side by side, and touch
 * every page on each SIGUSR1.
 *
 * For the test of exec promotion, which has to tell whose page table entry it
 * was that aging found young. The layouts are those that make it hard:
 *
 *  small	128 mappings of a page each, in turn executable and plain, half of
 *		them on either side of a page table's boundary
 *  huge	a huge page and 16 small ones in one executable mapping, and 16
 *		pages of a plain one beside them in the same page table
 *  large	256 executable pages in folios as large as sequential read() makes
 *		them; how many folios that are is not known
 *  locked	64 executable pages, half of them locked in memory
 *
 * Prints "ready EXEC PLAIN": how many folios are mapped executable and plain,
 * and may be seen by aging; and "touched" after each signal.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <stdio.h>
#include <string.h>
#include <sys/mman.h>
#include <unistd.h>

#include "common.h"

#define HUGE	(2UL << 20)	/* what a page table maps */

/* @size bytes from @offset of the file, executable, at @addr. */
static void map(void *addr, unsigned long size, int fd, unsigned long offset)
{
	void *p = mmap(addr, size, PROT_READ | PROT_EXEC, MAP_PRIVATE | MAP_FIXED, fd, offset);

	if (p != addr)
		err(1, "mmap of %lu bytes", size);
}

static void make_plain(char *addr, unsigned long size)
{
	if (mprotect(addr, size, PROT_READ))
		err(1, "mprotect");
}

/* Small folios, whatever the file system likes. */
static void read_ahead(int fd, unsigned long offset, unsigned long size)
{
	unsigned long done;

	for (done = 0; done < size; done += 64 << 10)
		if (readahead(fd, offset + done, 64 << 10))
			err(1, "readahead");
	usleep(200000);
}

/* In folios that grow with the readahead window. */
static void read_in(int fd, unsigned long size)
{
	static char buf[64 << 10];
	unsigned long done;

	for (done = 0; done < size; done += sizeof(buf))
		if (read(fd, buf, sizeof(buf)) != sizeof(buf))
			err(1, "read");
}

static void touch(const char *addr, unsigned long size)
{
	unsigned long i;

	for (i = 0; i < size; i += WL_PAGE)
		asm volatile("" : : "r" (addr[i]));
}

int main(int argc, char **argv)
{
	unsigned long size, i, nr_exec, nr_plain = 0;
	char *area, *start;
	sigset_t usr1;
	int fd, sig;

	if (argc != 3)
		errx(2, "usage: execmap FILE small|huge|large|locked");
	fd = open_data(argv[1], 2 * HUGE);
	/* Aligned, and with nothing of ours near it. */
	area = mmap(NULL, 4 * HUGE, PROT_NONE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
	if (area == MAP_FAILED)
		err(1, "mmap");
	area = (char *)(((unsigned long)area + HUGE - 1) & ~(HUGE - 1));

	if (!strcmp(argv[2], "small")) {
		size = 128 * WL_PAGE;
		start = area + HUGE - size / 2;
		read_ahead(fd, 0, size);
		map(start, size, fd, 0);
		for (i = 0; i < size; i += 2 * WL_PAGE)
			make_plain(start + i, WL_PAGE);
		nr_exec = 64;
		nr_plain = 64;
	} else if (!strcmp(argv[2], "huge")) {
		size = HUGE + 32 * WL_PAGE;
		start = area;
		read_ahead(fd, HUGE, 32 * WL_PAGE);
		map(start, size, fd, 0);
		if (madvise(start, HUGE, MADV_HUGEPAGE))
			err(1, "madvise(MADV_HUGEPAGE)");
		make_plain(start + HUGE + 16 * WL_PAGE, 16 * WL_PAGE);
		nr_exec = 17;
		nr_plain = 16;
	} else if (!strcmp(argv[2], "large")) {
		size = 256 * WL_PAGE;
		start = area;
		read_in(fd, size);
		map(start, size, fd, 0);
		nr_exec = 0;
	} else if (!strcmp(argv[2], "locked")) {
		size = 64 * WL_PAGE;
		start = area;
		read_ahead(fd, 0, size);
		map(start, size, fd, 0);
		if (mlock(start, size / 2))
			err(1, "mlock");
		nr_exec = 32;
	} else {
		errx(2, "%s: give small, huge, large or locked", argv[2]);
	}

	sigemptyset(&usr1);
	sigaddset(&usr1, SIGUSR1);
	sigprocmask(SIG_BLOCK, &usr1, NULL);
	setvbuf(stdout, NULL, _IOLBF, 0);
	touch(start, size);
	printf("ready %lu %lu\n", nr_exec, nr_plain);
	while (!sigwait(&usr1, &sig)) {
		touch(start, size);
		puts("touched");
	}
	err(1, "sigwait");
}
