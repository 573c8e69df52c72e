// SPDX-License-Identifier: GPL-2.0-only
/* Asks for one aging of its memory cgroup after another, until it is killed. */
#include <err.h>
#include <unistd.h>

#include "common.h"
#include "lrugen.h"

int main(int argc, char **argv)
{
	unsigned long us;

	if (argc != 2)
		errx(2, "usage: MICROSECONDS-BETWEEN-TWO");
	us = parse_size("MICROSECONDS-BETWEEN-TWO", argv[1]);
	for (;;) {
		lrugen_try_age();
		usleep(us);
	}
}
