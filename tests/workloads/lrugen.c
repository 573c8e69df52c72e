// SPDX-License-Identifier: GPL-2.0-only
/* The multi-gen LRU of this process's memory cgroup: see lrugen.h. */
#include <err.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "lrugen.h"

static const char *own_cgroup(void)
{
	static char *path;
	char line[4096];
	FILE *f;

	if (path)
		return path;
	f = fopen("/proc/self/cgroup", "r");
	if (!f)
		err(1, "/proc/self/cgroup");
	while (!path && fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (!strncmp(line, "0::", 3))
			path = strdup(line + 3);
	}
	fclose(f);
	if (!path)
		errx(1, "this process is in no cgroup v2 group");
	return path;
}

void lrugen_read(struct lruvec *lruvec)
{
	unsigned long seq, age, anon, file;
	bool ours = false, found = false;
	unsigned long long id;
	unsigned int node;
	char line[4352];
	int at;
	FILE *f;

	f = fopen(LRU_GEN, "r");
	if (!f)
		err(1, LRU_GEN ": debugfs must be mounted");
	memset(lruvec, 0, sizeof(*lruvec));
	while (fgets(line, sizeof(line), f)) {
		line[strcspn(line, "\n")] = '\0';
		if (sscanf(line, "memcg %llu %n", &id, &at) == 1) {
			ours = !strcmp(line + at, own_cgroup());
			if (!ours)
				continue;
			/* A removed cgroup of the same name may linger: ours is last. */
			memset(lruvec, 0, sizeof(*lruvec));
			lruvec->id = id;
			found = false;
		} else if (ours && sscanf(line, " node %u", &node) == 1) {
			if (found)
				ours = false;
			else
				lruvec->node = node;
		} else if (ours &&
			   sscanf(line, " %lu %lu %lu %lu", &seq, &age, &anon, &file) == 4) {
			if (!found)
				lruvec->min_seq = seq;
			found = true;
			lruvec->max_seq = seq;
			lruvec->anon += anon;
			lruvec->file += file;
		}
	}
	fclose(f);
	if (!found)
		errx(1, LRU_GEN " does not list the cgroup %s", own_cgroup());
}

unsigned long now_ns(void)
{
	struct timespec ts;

	if (clock_gettime(CLOCK_MONOTONIC, &ts))
		err(1, "clock_gettime");
	return ts.tv_sec * 1000000000UL + ts.tv_nsec;
}

static unsigned long command(const char *text, bool must)
{
	static int fd = -1;
	unsigned long start;
	ssize_t len = strlen(text);

	if (fd < 0)
		fd = open(LRU_GEN, O_WRONLY | O_CLOEXEC);
	if (fd < 0)
		err(1, LRU_GEN);
	start = now_ns();
	if (write(fd, text, len) != len && must)
		err(1, "cannot write \"%s\" to " LRU_GEN, text);
	return now_ns() - start;
}

unsigned long lrugen_age(void)
{
	struct lruvec before, after;
	unsigned long ns;
	char text[96];

	lrugen_read(&before);
	snprintf(text, sizeof(text), "+ %llu %u %lu", before.id, before.node, before.max_seq);
	ns = command(text, true);
	lrugen_read(&after);
	if (after.max_seq != before.max_seq + 1)
		errx(1, "somebody else has aged the cgroup: it is at %lu, not %lu",
		     after.max_seq, before.max_seq + 1);
	return ns;
}

void lrugen_try_age(void)
{
	struct lruvec lruvec;
	char text[96];

	lrugen_read(&lruvec);
	snprintf(text, sizeof(text), "+ %llu %u %lu", lruvec.id, lruvec.node, lruvec.max_seq);
	command(text, false);
}

void lrugen_evict_anon(unsigned long nr)
{
	struct lruvec lruvec;
	char text[96];

	lrugen_read(&lruvec);
	snprintf(text, sizeof(text), "- %llu %u %lu 200 %lu", lruvec.id, lruvec.node,
		 lruvec.min_seq, nr);
	command(text, true);
}
