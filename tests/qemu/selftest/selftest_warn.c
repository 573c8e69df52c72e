// SPDX-License-Identifier: GPL-2.0-only
/*
 * Plants a warning in the kernel log when loaded, to see that the harness
 * fails a guest for it although its test passes.
 */

#include <linux/bug.h>
#include <linux/module.h>

static int __init selftest_warn_init(void)
{
	WARN(1, "planted by the harness's own test\n");
	return 0;
}

static void __exit selftest_warn_exit(void)
{
}

module_init(selftest_warn_init);
module_exit(selftest_warn_exit);

MODULE_LICENSE("GPL");
MODULE_DESCRIPTION("A planted warning for the test of the test harness");
