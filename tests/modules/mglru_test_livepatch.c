// SPDX-License-Identifier: GPL-2.0-only
/*
 * A real livepatch of folio_add_lru(). The replacement counts its calls, which
 * the parameter "calls" shows, and runs the original past the hook. To be
 * disabled through /sys/kernel/livepatch/mglru_test_livepatch/enabled before it
 * is unloaded.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/livepatch.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/static_call.h>

#include "mglru_test.h"

static atomic_t calls = ATOMIC_INIT(0);

static int calls_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops calls_ops = { .get = calls_get };
module_param_cb(calls, &calls_ops, NULL, 0444);
MODULE_PARM_DESC(calls, "How often the replacement was called (read only)");

static void mglru_test_nothing(struct folio *folio)
{
}

DEFINE_STATIC_CALL(mglru_test_original, mglru_test_nothing);

static void mglru_test_folio_add_lru(struct folio *folio)
{
	atomic_inc(&calls);
	static_call(mglru_test_original)(folio);
}

static struct klp_func mglru_test_funcs[] = {
	{
		.old_name = "folio_add_lru",
		.new_func = mglru_test_folio_add_lru,
	},
	{ }
};

static struct klp_object mglru_test_objects[] = {
	{ .funcs = mglru_test_funcs },	/* no name: vmlinux */
	{ }
};

static struct klp_patch mglru_test_patch = {
	.mod = THIS_MODULE,
	.objs = mglru_test_objects,
};

static int __init mglru_test_init(void)
{
	unsigned long ip = mglru_test_address("folio_add_lru");

	if (!ip)
		return -ENOENT;
	static_call_update(mglru_test_original,
			   (void (*)(struct folio *))(ip + MCOUNT_INSN_SIZE));
	return klp_enable_patch(&mglru_test_patch);
}

static void __exit mglru_test_exit(void)
{
}

module_init(mglru_test_init);
module_exit(mglru_test_exit);

MODULE_DESCRIPTION("For the selftests of mglru_policy: a livepatch of folio_add_lru");
MODULE_LICENSE("GPL");
MODULE_INFO(livepatch, "Y");
