/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * Through which mapping was a folio accessed? For kernels that do not tell
 * those who look at the access (MGLRU_FINDS_VMA). The model is told in vma.c.
 */
#ifndef MGLRU_VMA_H
#define MGLRU_VMA_H

#include "compat.h"
#include "hook.h"

enum mglru_mapping {
	MGLRU_MAPPING_UNKNOWN,
	MGLRU_MAPPING_PLAIN,	/* not executable */
	MGLRU_MAPPING_EXEC,
};

extern struct mglru_hook mglru_hook_walk_pud;
extern struct mglru_hook mglru_hook_walk_pmd;
extern struct mglru_hook mglru_hook_look_around;
extern struct mglru_hook mglru_hook_referenced;

#if MGLRU_FINDS_VMA
enum mglru_mapping mglru_mapping_of_walk(struct lru_gen_mm_walk *walk);
enum mglru_mapping mglru_mapping_of_access(struct folio *folio);
#else
static inline enum mglru_mapping mglru_mapping_of_walk(struct lru_gen_mm_walk *walk)
{
	return MGLRU_MAPPING_UNKNOWN;
}

static inline enum mglru_mapping mglru_mapping_of_access(struct folio *folio)
{
	return MGLRU_MAPPING_UNKNOWN;
}
#endif

#endif /* MGLRU_VMA_H */
