// SPDX-License-Identifier: GPL-2.0-only
/*
 * What mglru_policy must never do, planted to see that disasm.sh reports it:
 * a call and a tail call through a pointer to an unexported kernel function.
 * On CET hardware such a call is fatal. Only compiled, never to be loaded:
 * loading fails before anything is called.
 */
#include <linux/init.h>
#include <linux/module.h>

#include "mglru_test.h"

void mglru_test_planted_call(struct folio *folio)
{
	void (*lru_add)(void *lruvec, struct folio *folio);

	lru_add = (void *)mglru_test_address("lru_add");
	lru_add(NULL, folio);
	barrier();	/* no tail call */
}

void mglru_test_planted_jump(struct folio *folio)
{
	void (*lru_add)(void *lruvec, struct folio *folio);

	lru_add = (void *)mglru_test_address("lru_add");
	lru_add(NULL, folio);
}

static int __init mglru_test_init(void)
{
	return -EOPNOTSUPP;
}

module_init(mglru_test_init);

MODULE_DESCRIPTION("For the disassembly check of mglru_policy: planted faults, never to be loaded");
MODULE_LICENSE("GPL");
