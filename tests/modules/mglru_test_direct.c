// SPDX-License-Identifier: GPL-2.0-only
/*
 * A direct caller on folio_add_lru(), as bpf trampolines are: the ftrace site
 * calls our trampoline without ftrace in between. It counts its calls, which
 * the parameter "calls" shows, and goes on to the original.
 */
#include <linux/atomic.h>
#include <linux/ftrace.h>
#include <linux/init.h>
#include <linux/module.h>
#include <linux/moduleparam.h>

#include <asm/ibt.h>
#include <asm/linkage.h>
#include <asm/nospec-branch.h>

#include "mglru_test.h"

static atomic_t calls = ATOMIC_INIT(0);

static int calls_get(char *buf, const struct kernel_param *kp)
{
	return sysfs_emit(buf, "%d\n", atomic_read(&calls));
}

static const struct kernel_param_ops calls_ops = { .get = calls_get };
module_param_cb(calls, &calls_ops, NULL, 0444);
MODULE_PARM_DESC(calls, "How often the function was called (read only)");

/* Called by the trampoline. */
void mglru_test_count(void)
{
	atomic_inc(&calls);
}

asm("	.pushsection .text, \"ax\", @progbits\n"
"	.type mglru_test_trampoline, @function\n"
"	.globl mglru_test_trampoline\n"
"mglru_test_trampoline:\n"
	ASM_ENDBR
"	pushq %rbp\n"
"	movq %rsp, %rbp\n"
	CALL_DEPTH_ACCOUNT
"	pushq %rdi\n"
"	pushq %rdi\n"
"	call mglru_test_count\n"
"	popq %rdi\n"
"	popq %rdi\n"
"	leave\n"
	ASM_RET
"	.size mglru_test_trampoline, .-mglru_test_trampoline\n"
"	.popsection\n"
);

static struct ftrace_ops mglru_test_ops;

static int __init mglru_test_init(void)
{
	unsigned long ip = mglru_test_address("folio_add_lru");
	int err;

	if (!ip)
		return -ENOENT;
	err = ftrace_set_filter_ip(&mglru_test_ops, ip, 0, 0);
	if (err)
		return err;
	err = register_ftrace_direct(&mglru_test_ops, (unsigned long)mglru_test_trampoline);
	if (err)
		ftrace_free_filter(&mglru_test_ops);
	return err;
}

static void __exit mglru_test_exit(void)
{
	unregister_ftrace_direct(&mglru_test_ops, (unsigned long)mglru_test_trampoline, true);
}

module_init(mglru_test_init);
module_exit(mglru_test_exit);

MODULE_DESCRIPTION("For the selftests of mglru_policy: a direct caller on folio_add_lru");
MODULE_LICENSE("GPL");
