/* SPDX-License-Identifier: GPL-2.0-only */
/* /sys/kernel/mglru_policy, see sysfs-doc/. */
#ifndef MGLRU_SYSFS_H
#define MGLRU_SYSFS_H

#include "memcg.h"

int mglru_sysfs_init(void);
void mglru_sysfs_exit(void);

void mglru_sysfs_init_state(struct mglru_memcg *state);
int mglru_sysfs_add_state(struct mglru_memcg *state, const char *name);
struct mglru_memcg *mglru_sysfs_find_state(struct mglru_memcg *parent, const char *name);
int mglru_sysfs_rename_state(struct mglru_memcg *state, const char *name);
void mglru_sysfs_remove_state(struct mglru_memcg *state);
bool mglru_sysfs_is_reserved(const char *name);

/**
 * mglru_sysfs_has_state - does a state have a directory
 * @state: the state
 *
 * Context: the life lock is held.
 */
static inline bool mglru_sysfs_has_state(const struct mglru_memcg *state)
{
	return state->kobj.state_in_sysfs;
}

#endif /* MGLRU_SYSFS_H */
