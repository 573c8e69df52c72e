/* SPDX-License-Identifier: GPL-2.0-only */
/* Follow memory cgroups as they come and go. */
#ifndef MGLRU_LIFE_H
#define MGLRU_LIFE_H

#include "hook.h"

#define MGLRU_NR_LIFE_HOOKS	2

extern struct mglru_hook *const mglru_life_hooks[MGLRU_NR_LIFE_HOOKS];

int mglru_life_init(void);
int mglru_life_start(void);
void mglru_life_stop(void);

#endif /* MGLRU_LIFE_H */
