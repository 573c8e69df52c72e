// SPDX-License-Identifier: GPL-2.0-only
/*
 * run-in-cgroup DIR COMMAND [ARG...]: become a member of the cgroup, then exec.
 *
 * A program moved after it started would leave what it had already read charged
 * elsewhere; this one is a member before the first page of COMMAND is touched.
 *
 * Huge pages are off for COMMAND: khugepaged wakes when it likes, and text that it collapsed is
 * evicted 2 MiB at a time, so that the same run gave 10 or 140 major faults.
 */
#define _GNU_SOURCE
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/prctl.h>
#include <unistd.h>

#include "common.h"

int main(int argc, char **argv)
{
	char *procs;
	int fd;

	if (argc < 3)
		errx(2, "usage: CGROUP-DIR COMMAND [ARG...]");
	if (asprintf(&procs, "%s/cgroup.procs", argv[1]) < 0)
		errx(1, "out of memory");
	fd = open(procs, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		errx(1, "%s: %s; give the directory of a cgroup v2 group", procs, strerror(errno));
	if (write(fd, "0", 1) != 1)
		errx(1, "%s: %s; a group that hands controllers to children takes no processes",
		     procs, strerror(errno));
	if (prctl(PR_SET_THP_DISABLE, 1, 0, 0, 0))
		err(1, "prctl(PR_SET_THP_DISABLE)");
	execvp(argv[2], argv + 2);
	err(1, "%s", argv[2]);
}
