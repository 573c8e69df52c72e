/* SPDX-License-Identifier: GPL-2.0-only */
/* Where an added folio starts: folio_add_lru() and lru_add(). */
#ifndef MGLRU_PLACEMENT_H
#define MGLRU_PLACEMENT_H

#include "compat.h"
#include "hook.h"

extern struct mglru_hook mglru_hook_add;
extern struct mglru_hook mglru_hook_lru_add;

/**
 * mglru_add_rule_needs_hook - does lru_add() have to be redirected for a rule
 * @rule: the rule
 *
 * Return: false if this kernel's lru_add() does the same by itself.
 */
static inline bool mglru_add_rule_needs_hook(enum mglru_add_rule rule)
{
	return rule != MGLRU_ADD_NATIVE && rule != MGLRU_KERNEL_ADD;
}

int mglru_placement_init(void);
bool mglru_is_enabled(void);

#endif /* MGLRU_PLACEMENT_H */
