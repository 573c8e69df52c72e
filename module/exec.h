/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * What an access through page tables does: lru_gen_set_refs() and
 * walk_update_folio().
 */
#ifndef MGLRU_EXEC_H
#define MGLRU_EXEC_H

#include "compat.h"
#include "hook.h"

extern struct mglru_hook mglru_hook_set_refs;
extern struct mglru_hook mglru_hook_update;

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

/**
 * mglru_exec_needs_hook - does a policy want another exec promotion than this
 * kernel's
 * @policy: a policy value
 *
 * Return: false if it has no wish, or this kernel does the same by itself, or
 * the kernel (before 6.14) has no first access that could be told from others.
 */
static inline bool mglru_exec_needs_hook(unsigned int policy)
{
	return MGLRU_KERNEL_EXEC && (policy & MGLRU_EXEC_MASK) &&
	       (policy & MGLRU_EXEC_MASK) != MGLRU_KERNEL_EXEC;
}

#endif /* MGLRU_EXEC_H */
