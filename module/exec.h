/* SPDX-License-Identifier: GPL-2.0-only */
/* What an access through page tables does: lru_gen_set_refs(). */
#ifndef MGLRU_EXEC_H
#define MGLRU_EXEC_H

#include "compat.h"
#include "hook.h"

extern struct mglru_hook mglru_hook_set_refs;

/**
 * mglru_refs_rule_needs_hook - does lru_gen_set_refs() have to be redirected
 * @rule: the rule
 *
 * Return: false if this kernel does the same by itself, or has no such
 * function: before 6.14 it counts references in a way of its own, which no
 * policy changes.
 */
static inline bool mglru_refs_rule_needs_hook(enum mglru_refs_rule rule)
{
	return MGLRU_HAVE_SET_REFS && rule != MGLRU_REFS_NATIVE &&
	       rule != MGLRU_KERNEL_REFS;
}

#endif /* MGLRU_EXEC_H */
