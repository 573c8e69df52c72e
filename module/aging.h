/* SPDX-License-Identifier: GPL-2.0-only */
/* Batched aging: how the oldest generation is folded into the next. */
#ifndef MGLRU_AGING_H
#define MGLRU_AGING_H

#include "compat.h"
#include "hook.h"

extern struct mglru_hook mglru_hook_aging;

#endif /* MGLRU_AGING_H */
