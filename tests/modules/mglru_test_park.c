// SPDX-License-Identifier: GPL-2.0-only
/*
 * Park a task inside a function of another module: whoever comes to the probed
 * instruction spins there, preemptible, until "hold" is 0, with the address of
 * that instruction on its stack. If the other module's text goes meanwhile, the
 * return is a fault.
 *
 * A kprobe's handler cannot be preempted, and leaving int3 does not reschedule.
 * So the handler makes the task call a function instead.
 */
#include <linux/atomic.h>
#include <linux/init.h>
#include <linux/kprobes.h>
#include <linux/linkage.h>
#include <linux/module.h>
#include <linux/moduleparam.h>
#include <linux/objtool.h>
#include <linux/preempt.h>
#include <linux/sched.h>
#include <asm/text-patching.h>

#include "mglru_test.h"

#define MGLRU_TEST_FTRACE_SITE 5	/* bytes */

static char *func;
module_param(func, charp, 0444);
MODULE_PARM_DESC(func, "Where to park, MODULE:FUNCTION");

static bool hold = true;
module_param(hold, bool, 0644);
MODULE_PARM_DESC(hold, "Whether parked tasks stay");

static int parked;
module_param(parked, int, 0444);
MODULE_PARM_DESC(parked, "Tasks that are parked now (read only)");

static unsigned long preempted;
module_param(preempted, ulong, 0444);
MODULE_PARM_DESC(preempted, "How often the last one was preempted there (read only)");

static unsigned long slept;
module_param(slept, ulong, 0444);
MODULE_PARM_DESC(slept, "How often it gave up the CPU by itself there: must be 0 (read only)");

static unsigned long atomic_hits;
module_param(atomic_hits, ulong, 0444);
MODULE_PARM_DESC(atomic_hits, "Passes that could not be preempted, and went on (read only)");

static struct task_struct *owner;	/* parked, or on its way back */

void mglru_test_park(void)
{
	unsigned long nvcsw = current->nvcsw, nivcsw = current->nivcsw;

	WRITE_ONCE(parked, 1);
	while (READ_ONCE(hold)) {
		cpu_relax();
		WRITE_ONCE(preempted, current->nivcsw - nivcsw);
		WRITE_ONCE(slept, current->nvcsw - nvcsw);
	}
	WRITE_ONCE(parked, 0);
}

/* Called at any instruction: keeps all registers and the flags. */
asm("	.pushsection .text, \"ax\", @progbits\n"
"	.type mglru_test_park_stub, @function\n"
"	.globl mglru_test_park_stub\n"
"mglru_test_park_stub:\n"
"	pushfq\n"
"	pushq %rbp\n"
"	movq %rsp, %rbp\n"
"	pushq %rax\n"
"	pushq %rcx\n"
"	pushq %rdx\n"
"	pushq %rsi\n"
"	pushq %rdi\n"
"	pushq %r8\n"
"	pushq %r9\n"
"	pushq %r10\n"
"	pushq %r11\n"
"	andq $-16, %rsp\n"
"	call mglru_test_park\n"
"	leaq -72(%rbp), %rsp\n"
"	popq %r11\n"
"	popq %r10\n"
"	popq %r9\n"
"	popq %r8\n"
"	popq %rdi\n"
"	popq %rsi\n"
"	popq %rdx\n"
"	popq %rcx\n"
"	popq %rax\n"
"	popq %rbp\n"
"	popfq\n"
	ASM_RET
"	.size mglru_test_park_stub, .-mglru_test_park_stub\n"
"	.popsection\n"
);
STACK_FRAME_NON_STANDARD(mglru_test_park_stub);

static int mglru_test_pre(struct kprobe *kp, struct pt_regs *regs)
{
	/* Back from the stub: the probed instruction itself. */
	if (READ_ONCE(owner) == current) {
		WRITE_ONCE(owner, NULL);
		return 0;
	}
	if (!READ_ONCE(hold))
		return 0;
	/* int3 counts as an NMI; anything more was there before. */
	if (preempt_count() != NMI_OFFSET + HARDIRQ_OFFSET || !(regs->flags & X86_EFLAGS_IF)) {
		atomic_hits++;
		return 0;
	}
	if (cmpxchg(&owner, NULL, current))
		return 0;
	int3_emulate_push(regs, (unsigned long)kp->addr);
	int3_emulate_jmp(regs, (unsigned long)mglru_test_park_stub);
	return 1;
}
NOKPROBE_SYMBOL(mglru_test_pre);

/* Having one keeps the probe from becoming a jump, which cannot redirect. */
static void mglru_test_post(struct kprobe *kp, struct pt_regs *regs, unsigned long flags)
{
}
NOKPROBE_SYMBOL(mglru_test_post);

static struct kprobe mglru_test_kp;

static int __init mglru_test_init(void)
{
	int err;

	mglru_test_kp.symbol_name = func;
	mglru_test_kp.pre_handler = mglru_test_pre;
	mglru_test_kp.post_handler = mglru_test_post;
	err = register_kprobe(&mglru_test_kp);
	if (err || !kprobe_ftrace(&mglru_test_kp))
		return err;
	/* A probe by ftrace cannot redirect: the instruction after it. */
	unregister_kprobe(&mglru_test_kp);
	mglru_test_kp = (struct kprobe) {
		.addr = mglru_test_kp.addr + MGLRU_TEST_FTRACE_SITE,
		.pre_handler = mglru_test_pre,
		.post_handler = mglru_test_post,
	};
	return register_kprobe(&mglru_test_kp);
}

static void __exit mglru_test_exit(void)
{
	WRITE_ONCE(hold, false);
	unregister_kprobe(&mglru_test_kp);
}

module_init(mglru_test_init);
module_exit(mglru_test_exit);

MODULE_DESCRIPTION("For the selftests of mglru_policy: park a task inside a function");
MODULE_LICENSE("GPL");
