// SPDX-License-Identifier: GPL-2.0-only
/* What the workload programs share: see common.h. */
#include <err.h>
#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <unistd.h>

#include "common.h"

unsigned long parse_size(const char *option, const char *text)
{
	unsigned int shift = 0;
	unsigned long value;
	char *end;

	errno = 0;
	value = strtoull(text, &end, 10);
	if (*end == 'K')
		shift = 10;
	else if (*end == 'M')
		shift = 20;
	else if (*end == 'G')
		shift = 30;
	if (shift)
		end++;
	if (errno || end == text || *end || *text == '-' || value << shift >> shift != value)
		errx(1, "%s: \"%s\" is not a number; give digits, then K, M or G if wanted",
		     option, text);
	return value << shift;
}

int open_data(const char *path, unsigned long size)
{
	struct stat st;
	int fd;

	fd = open(path, O_RDONLY | O_CLOEXEC);
	if (fd < 0 || fstat(fd, &st))
		errx(1, "%s: %s; make it with mkdata", path, strerror(errno));
	if ((unsigned long)st.st_size < size)
		errx(1, "%s has %jd bytes, fewer than the %lu asked for; make it anew with mkdata",
		     path, (intmax_t)st.st_size, size);
	return fd;
}

unsigned long page_stamp(unsigned long page)
{
	return (page + 1) * 0x9e3779b97f4a7c15ULL;
}

void check_page(const void *addr, unsigned long page)
{
	unsigned long stamp = *(const unsigned long *)addr;

	if (stamp != page_stamp(page))
		errx(1, "page %lu of the data file holds %#lx, not its stamp; make it anew",
		     page, stamp);
}

void rng_seed(struct rng *rng, unsigned long seed)
{
	/* Zero is xorshift's only fixed point, and small seeds start out alike. */
	rng->state = (seed + 1) * 0x9e3779b97f4a7c15ULL;
	if (!rng->state)
		rng->state = 1;
}

unsigned long rng_below(struct rng *rng, unsigned long bound)
{
	unsigned long x = rng->state;

	x ^= x >> 12;
	x ^= x << 25;
	x ^= x >> 27;
	rng->state = x;
	return ((x * 0x2545f4914f6cdd1dULL) >> 32) % bound;
}

static unsigned long timeval_us(const struct timeval *tv)
{
	return tv->tv_sec * 1000000ULL + tv->tv_usec;
}

static void usage_now(struct rusage *ru)
{
	if (getrusage(RUSAGE_SELF, ru))
		err(1, "getrusage");
}

long majflt_now(void)
{
	struct rusage ru;

	usage_now(&ru);
	return ru.ru_majflt;
}

void boundary(unsigned int passes, bool wait, const char *extra)
{
	struct rusage ru;
	ssize_t n;
	char c;

	usage_now(&ru);
	if (dprintf(STDOUT_FILENO, "at %u majflt=%ld minflt=%ld sys_us=%lu user_us=%lu%s%s\n",
		    passes, ru.ru_majflt, ru.ru_minflt, timeval_us(&ru.ru_stime),
		    timeval_us(&ru.ru_utime), *extra ? " " : "", extra) < 0)
		err(1, "cannot write to stdout");
	if (!wait)
		return;
	do {
		n = read(STDIN_FILENO, &c, 1);
	} while ((n < 0 && errno == EINTR) || (n == 1 && c != '\n'));
	if (n != 1)
		errx(1, "stdin ended after pass %u: with --step send a line for each pass", passes);
}
