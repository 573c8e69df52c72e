// SPDX-License-Identifier: GPL-2.0-only
/*
 * Make a kernel function late: whoever enters it sleeps first. Opens windows
 * that are otherwise a few instructions wide. Only for functions that are
 * called where sleeping is allowed, and not to be unloaded while somebody
 * sleeps; the parameter "sleeping" tells how many do.
 */
#include <linux/atomic.h>
#include <linux/delay.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "mglru_test.h"

static char *func = "alloc_shrinker_info";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "Function to delay (default: alloc_shrinker_info, called when a memory cgroup comes online)");

static unsigned int ms;
module_param(ms, uint, 0644);
MODULE_PARM_DESC(ms, "Delay in milliseconds (default: 0, none)");

static atomic_t sleeping = ATOMIC_INIT(0);

static int sleeping_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&sleeping));
}

static const struct kernel_param_ops sleeping_ops = { .get = sleeping_get };
module_param_cb(sleeping, &sleeping_ops, NULL, 0444);
MODULE_PARM_DESC(sleeping, "How many tasks are being delayed (read only)");

static void notrace mglru_test_handler(unsigned long ip, unsigned long parent_ip,
				       struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	unsigned int delay = READ_ONCE(ms);

	/* Alone on the function, we are called as it would be. */
	if (!delay || !preemptible())
		return;
	atomic_inc(&sleeping);
	msleep(delay);
	atomic_dec(&sleeping);
}

static struct ftrace_ops mglru_test_ops = {
	.func = mglru_test_handler,
};

static int __init mglru_test_init(void)
{
	unsigned long ip = mglru_test_address(func);
	int err;

	if (!ip)
		return -ENOENT;
	err = ftrace_set_filter_ip(&mglru_test_ops, ip, 0, 0);
	if (err)
		return err;
	err = register_ftrace_function(&mglru_test_ops);
	if (err)
		ftrace_free_filter(&mglru_test_ops);
	return err;
}

static void __exit mglru_test_exit(void)
{
	unregister_ftrace_function(&mglru_test_ops);
	ftrace_free_filter(&mglru_test_ops);
}

module_init(mglru_test_init);
module_exit(mglru_test_exit);

MODULE_DESCRIPTION("For the selftests of mglru_policy: delay a kernel function");
MODULE_LICENSE("GPL");
