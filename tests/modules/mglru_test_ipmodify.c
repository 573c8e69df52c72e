// SPDX-License-Identifier: GPL-2.0-only
/*
 * Another owner of a function: an ftrace_ops with IPMODIFY that leaves the
 * instruction pointer alone and counts its calls, which the parameter "calls"
 * shows. Loading fails with what register_ftrace_function() says.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include "mglru_test.h"

static char *func = "folio_add_lru";
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "Function to hold (default: folio_add_lru)");

static atomic_t calls = ATOMIC_INIT(0);

static int calls_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops calls_ops = { .get = calls_get };
module_param_cb(calls, &calls_ops, NULL, 0444);
MODULE_PARM_DESC(calls, "How often the function was called (read only)");

static void notrace mglru_test_handler(unsigned long ip, unsigned long parent_ip,
				       struct ftrace_ops *op, struct ftrace_regs *fregs)
{
	atomic_inc(&calls);
}

static struct ftrace_ops mglru_test_ops = {
	.func = mglru_test_handler,
	.flags = FTRACE_OPS_FL_IPMODIFY,
};

static int __init mglru_test_init(void)
{
	unsigned long ip = mglru_test_address(func);
	int err;

	if (!ip) {
		pr_err("there is no function %s\n", func);
		return -ENOENT;
	}
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

MODULE_DESCRIPTION("For the selftests of mglru_policy: another IPMODIFY user");
MODULE_LICENSE("GPL");
