// SPDX-License-Identifier: GPL-2.0-only
/*
 * Show the 16-bit id by which the kernel and mglru_policy number memory
 * cgroups, which no file shows on 7.2 and later. Write a cgroup's path (cgroup
 * v2, from the root: /a/b) to the parameter "path" and read the parameter "id".
 */
#include <linux/cgroup.h>
#include <linux/err.h>
#include <linux/init.h>
#include <linux/memcontrol.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/slab.h>
#include <linux/string.h>

static unsigned int id;
module_param(id, uint, 0444);
MODULE_PARM_DESC(id, "The id of the cgroup whose path was written last (read only)");

static int path_set(const char *val, const struct kernel_param *kp)
{
	char *path = kstrdup(val, GFP_KERNEL);
	struct cgroup_subsys_state *css;
	struct cgroup *cgrp;
	int err = 0;

	if (!path)
		return -ENOMEM;
	cgrp = cgroup_get_from_path(strim(path));
	kfree(path);
	if (IS_ERR(cgrp))
		return PTR_ERR(cgrp);

	rcu_read_lock();
	css = rcu_dereference(cgrp->subsys[memory_cgrp_id]);
	if (css)
		id = (unsigned short)READ_ONCE(mem_cgroup_from_css(css)->id.id);
	else
		err = -ENOENT;
	rcu_read_unlock();
	cgroup_put(cgrp);
	return err;
}

static const struct kernel_param_ops path_ops = { .set = path_set };
module_param_cb(path, &path_ops, NULL, 0200);
MODULE_PARM_DESC(path, "Path of a cgroup whose id to look up (write only)");

static int __init mglru_test_init(void)
{
	return 0;
}

static void __exit mglru_test_exit(void)
{
}

module_init(mglru_test_init);
module_exit(mglru_test_exit);

MODULE_DESCRIPTION("For the selftests of mglru_policy: ids of memory cgroups");
MODULE_LICENSE("GPL");
