// SPDX-License-Identifier: GPL-2.0-only
/*
 * mglru_policy: choose, per memory cgroup and on a running host, how the
 * multi-gen LRU places pages. Load and unload.
 *
 * Where to read on: placement.c tells what the policies do, memcg.c how a
 * cgroup comes by its policy, hook.c how a kernel function is redirected,
 * life.c how cgroups are followed.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "credit.h"
#include "life.h"
#include "memcg.h"
#include "placement.h"
#include "policy.h"
#include "sysfs.h"

static char *policy = "original";
module_param(policy, charp, 0444);
MODULE_PARM_DESC(policy, "Policy of the root cgroup, the default of the host, at load (default: original). The file 'available' in /sys/kernel/mglru_policy lists the names.");

static int __init mglru_init(void)
{
	char name[MGLRU_POLICY_NAME];
	int root_policy, err;

	if (mem_cgroup_disabled()) {
		pr_err("memory cgroups are disabled; boot without cgroup_disable=memory\n");
		return -EOPNOTSUPP;
	}
	err = mglru_hook_init();
	if (err)
		return err;
	err = mglru_placement_init();
	if (err)
		return err;
	mglru_credit_find();
	err = mglru_life_init();
	if (err)
		return err;
	err = mglru_policy_find_hooks();
	if (err)
		return err;

	root_policy = mglru_policy_parse(policy, strlen(policy), "parameter policy");
	if (root_policy == MGLRU_INHERIT) {
		pr_err("parameter policy: the root has no parent to inherit from\n");
		root_policy = -EINVAL;
	}
	if (root_policy < 0)
		return root_policy;

	err = mglru_memcg_init();
	if (err)
		return err;
	err = mglru_sysfs_init();
	if (err)
		goto exit_memcg;
	err = mglru_life_start();
	if (err)
		goto exit_sysfs;
	err = mglru_memcg_set_root(root_policy);
	if (err)
		goto stop_life;

	pr_info("loaded; default policy %s\n", mglru_policy_name(root_policy, name, sizeof(name)));
	return 0;

stop_life:
	mglru_memcg_disarm();
	mglru_life_stop();
exit_sysfs:
	mglru_sysfs_exit();
exit_memcg:
	mglru_memcg_exit();
	return err;
}

static void __exit mglru_exit(void)
{
	/*
	 * First the memory paths, then the observers: while hooks are on memory
	 * paths, a slot must be emptied when its cgroup goes.
	 */
	mglru_memcg_disarm();
	mglru_life_stop();
	mglru_sysfs_exit();
	mglru_memcg_exit();
	pr_info("unloaded; every cgroup is back at original\n");
}

module_init(mglru_init);
module_exit(mglru_exit);

MODULE_DESCRIPTION("Choose page placement policies of the multi-gen LRU per memory cgroup");
MODULE_AUTHOR("The mglru_policy developers");
MODULE_LICENSE("GPL");
MODULE_VERSION("0.1");
