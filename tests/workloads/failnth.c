// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make the N-th allocation of one system call fail, with the kernel's fail-nth
 * (Documentation/fault-injection).
 *
 *	failnth N load MODULE.ko [PARAMETERS]
 *	failnth N mkdir DIRECTORY
 *	failnth N write FILE TEXT
 *
 * Prints the call's error as a symbol, or 0, and how many faults were injected,
 * 0 or 1. Without one, the call makes fewer than N allocations.
 */
#define _GNU_SOURCE
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <unistd.h>

static void die(const char *what)
{
	fprintf(stderr, "failnth: %s: %s\n", what, strerror(errno));
	exit(2);
}

static int open_or_die(const char *path, int flags)
{
	int fd = open(path, flags | O_CLOEXEC);

	if (fd < 0)
		die(path);
	return fd;
}

int main(int argc, char **argv)
{
	int nth, fd = -1, error, left, err;
	char buf[16] = "";
	size_t len = 0;
	long ret;
	char what;

	if (argc < 4 || (!strcmp(argv[2], "write") && argc < 5)) {
		fprintf(stderr, "usage: failnth N load|mkdir|write PATH [TEXT]\n");
		return 2;
	}
	what = argv[2][0];
	if (what == 'l')
		fd = open_or_die(argv[3], O_RDONLY);
	if (what == 'w')
		fd = open_or_die(argv[3], O_WRONLY);
	if (what == 'w')
		len = strlen(argv[4]);
	nth = open_or_die("/proc/thread-self/fail-nth", O_RDWR);

	/* Between here and the read, the call is all that allocates. */
	err = write(nth, argv[1], strlen(argv[1])) < 0;
	if (err)
		die("fail-nth");
	if (what == 'l')
		ret = syscall(SYS_finit_module, fd, argc > 4 ? argv[4] : "", 0);
	else if (what == 'm')
		ret = mkdir(argv[3], 0755);
	else
		ret = write(fd, argv[4], len);
	error = ret < 0 ? errno : 0;
	if (pread(nth, buf, sizeof(buf) - 1, 0) <= 0)
		die("fail-nth");
	left = atoi(buf);
	if (left && write(nth, "0", 1) < 0)
		die("fail-nth");
	printf("%s %d\n", error ? strerrorname_np(error) : "0", !left);
	return 0;
}
