// SPDX-License-Identifier: GPL-2.0-only
/*
 * Redirect kernel functions with ftrace, as kernel/livepatch/patch.c does.
 *
 * A function that ftrace can trace begins with a patchable NOP. Registering an
 * ftrace_ops turns it into a call of a trampoline that runs our handler with
 * the function's arguments; a handler that sets the instruction pointer makes
 * the trampoline return into the replacement, which then stands in the place
 * of the function, with the caller's return address and arguments.
 *
 *	caller ---> func:   call trampoline --> handler: leave the IP --+
 *	              |                            |                     |
 *	              |                            | set the IP          |
 *	              |                            v                     |
 *	              |                        replacement               |
 *	              v                            |                     |
 *	            func + 5: the original <-------+---------------------+
 *	                             static_call
 *
 * The replacement reaches the original by a static call to the instruction
 * behind the NOP. Static calls are patched into direct calls, so neither IBT
 * (static functions have lost their endbr64, and an indirect call to one is
 * fatal on CET hardware) nor retpolines nor kCFI have a say in it.
 *
 * Leaving is safe because unregister_ftrace_function() of a module's ops waits
 * for RCU tasks: nobody is left in the trampoline, the handler or, preempted,
 * in a replacement. That does not cover a task that has blocked in a
 * replacement: it is off the run queue, and so no holdout. Nor, on a kernel
 * without CONFIG_PREEMPTION, where RCU tasks is plain RCU, one that has called
 * cond_resched(). Such calls are counted, see mglru_hook_enter().
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kprobes.h>
#include <linux/module.h>
#include <linux/printk.h>
#include <linux/rcupdate.h>
#include <linux/sched.h>
#include <linux/static_call.h>
#include <linux/uaccess.h>

#include "compat.h"
#include "hook.h"

static unsigned long mglru_no_symbol(const char *name)
{
	return 0;
}

static int mglru_no_symbols(int (*fn)(void *data, unsigned long addr), const char *name,
			    void *data)
{
	return 0;
}

DEFINE_STATIC_CALL(mglru_kallsyms_lookup_name, mglru_no_symbol);
DEFINE_STATIC_CALL(mglru_kallsyms_each, mglru_no_symbols);

/* ftrace's own switch, NULL if it could not be found. */
static const int *mglru_ftrace_enabled;

/*
 * Where a function's ftrace site is, or 0. A disabled kprobe resolves the
 * symbol, static functions included, and patches no text. On x86 it moves past
 * an endbr64 by itself.
 */
static unsigned long mglru_hook_address(const char *func)
{
	struct kprobe kp = {
		.symbol_name = func,
		.flags = KPROBE_FLAG_DISABLED,
	};
	unsigned long ip;

	if (register_kprobe(&kp))
		return 0;
	ip = (unsigned long)kp.addr;
	unregister_kprobe(&kp);
	return ip;
}

static int mglru_hook_count(void *data, unsigned long addr)
{
	++*(unsigned int *)data;
	return 0;
}

/*
 * Static functions of different files may have the same name: mm/vmscan.c and
 * mm/pagewalk.c both have a walk_pud_range(). Usually one of them is inlined.
 */
static bool mglru_hook_is_ambiguous(const char *func)
{
	unsigned int count = 0;

	static_call(mglru_kallsyms_each)(mglru_hook_count, func, &count);
	return count > 1;
}

/**
 * mglru_hook_init - get ready to find symbols
 *
 * Context: process context, may sleep. To be called once, before all else.
 * Return: 0, or -ENOENT (logged) if this kernel hides its symbols.
 */
int mglru_hook_init(void)
{
	unsigned long ip = mglru_hook_address("kallsyms_lookup_name");

	if (!ip) {
		pr_err("kallsyms_lookup_name not found: kprobes are off or the kernel has no kallsyms; mglru_policy needs both\n");
		return -ENOENT;
	}
	static_call_update(mglru_kallsyms_lookup_name,
			   (unsigned long (*)(const char *))ip);
	ip = mglru_hook_address("kallsyms_on_each_match_symbol");
	if (!ip) {
		pr_err("kallsyms_on_each_match_symbol not found: this kernel build cannot be served\n");
		return -ENOENT;
	}
	static_call_update(mglru_kallsyms_each,
			   (int (*)(int (*)(void *, unsigned long), const char *, void *))ip);
	mglru_ftrace_enabled = mglru_hook_data("ftrace_enabled");
	return 0;
}

/**
 * mglru_hook_data - find a variable that the kernel does not export
 * @symbol: its name
 *
 * Context: process context.
 * Return: its address, or NULL if this kernel has none of that name.
 */
void *mglru_hook_data(const char *symbol)
{
	return (void *)static_call(mglru_kallsyms_lookup_name)(symbol);
}

/**
 * mglru_hook_strerror - what an errno of the engine means, in a few words
 * @error: the negative errno
 */
const char *mglru_hook_strerror(int error)
{
	switch (error) {
	case -ENOENT:
		return "no such function in this kernel, or it was inlined";
	case -ENXIO:
		return "ftrace cannot trace it";
	case -ENOTUNIQ:
		return "this kernel has several functions of that name";
	case -EBUSY:
		return "held by livepatch, another IPMODIFY user or a direct caller";
	case -EPERM:
		return "ftrace is switched off";
	case -ENODEV:
		return "ftrace is dead since an earlier error";
	case -EIO:
		return "attached, but the hook is not live";
	case -ENOMEM:
		return "out of memory";
	default:
		return "failed";
	}
}

static const char *mglru_hook_remedy(int error)
{
	switch (error) {
	case -ENOENT:
	case -ENXIO:
	case -ENOTUNIQ:
		return "this kernel build cannot be served, see the README";
	case -EBUSY:
		return "find its holder in tracefs/enabled_functions and disable it";
	case -EPERM:
		return "write 1 to /proc/sys/kernel/ftrace_enabled";
	case -ENODEV:
	case -EIO:
		return "look for an ftrace warning above, and reboot";
	default:
		return "try again later";
	}
}

static int mglru_hook_fail(struct mglru_hook *hook, int error)
{
	hook->state = MGLRU_HOOK_FAILED;
	hook->error = error;
	pr_err("cannot hook %s: %s (error %d); %s\n", hook->func,
	       mglru_hook_strerror(error), error, mglru_hook_remedy(error));
	return error;
}

/**
 * mglru_hook_find - locate a function and aim at its original
 * @hook: the hook
 *
 * Patches nothing of the kernel. Quiet: what a missing function means is for
 * the caller to say.
 *
 * Context: process context, may sleep.
 * Return: 0, -ENOENT if there is no such function, -ENOTUNIQ if there are
 * several, -ENXIO if ftrace cannot trace it, -ENOMEM.
 */
int mglru_hook_find(struct mglru_hook *hook)
{
	int err;

	hook->ip = mglru_hook_address(hook->func);
	if (!hook->ip) {
		err = -ENOENT;
		goto fail;
	}
	if (mglru_hook_is_ambiguous(hook->func)) {
		err = -ENOTUNIQ;
		goto fail;
	}

	err = ftrace_set_filter_ip(&hook->ops, hook->ip, 0, 0);
	if (err) {
		err = err == -EINVAL ? -ENXIO : err;
		goto fail;
	}
	ftrace_set_filter_ip(&hook->ops, hook->ip, 1, 0);

	if (hook->aim)
		hook->aim((void *)(hook->ip + MCOUNT_INSN_SIZE));
	hook->state = MGLRU_HOOK_IDLE;
	hook->error = 0;
	return 0;

fail:
	hook->ip = 0;
	hook->state = MGLRU_HOOK_FAILED;
	hook->error = err;
	return err;
}

/* Does nobody use the site? Then it holds the 5-byte NOP. */
static bool mglru_hook_is_idle(const struct mglru_hook *hook)
{
	static const u8 nop[MCOUNT_INSN_SIZE] = MGLRU_NOP5;
	u8 insn[MCOUNT_INSN_SIZE];

	return !copy_from_kernel_nofault(insn, (void *)hook->ip, sizeof(insn)) &&
	       !memcmp(insn, nop, sizeof(nop));
}

/* ftrace that has met an error refuses everything, a change of a filter too. */
static bool mglru_ftrace_is_alive(unsigned long ip)
{
	static struct ftrace_ops unused;

	if (ftrace_set_filter_ip(&unused, ip, 0, 0))
		return false;
	ftrace_set_filter_ip(&unused, ip, 1, 0);
	return true;
}

/*
 * Registering can return 0 and do nothing: when patching the text failed,
 * ftrace warns, switches itself off and forgets to tell. So read the site. If
 * nobody else traces the function, the call leads to our own trampoline; if
 * somebody does, to whatever ftrace or BPF shares among us, and that it was
 * told of us is shown by ftrace being alive.
 */
static bool mglru_hook_is_live(const struct mglru_hook *hook)
{
	return !mglru_hook_is_idle(hook) && mglru_ftrace_is_alive(hook->ip);
}

/*
 * The kernel may go on calling us, so our text must never go away. While the
 * module is in use a reference keeps it. While it is leaving nothing can: then
 * a rmmod that does not return is better than what would follow.
 */
static void mglru_hook_stuck(struct mglru_hook *hook, int error)
{
	if (hook->error)
		return;
	hook->error = error;
	pr_emerg("cannot unhook %s: %s (error %d); the module stays until a reboot\n",
		 hook->func, mglru_hook_strerror(error), error);
	if (THIS_MODULE->state == MODULE_STATE_LIVE) {
		__module_get(THIS_MODULE);
		return;
	}
	for (;;)
		schedule_timeout_uninterruptible(MAX_SCHEDULE_TIMEOUT);
}

/*
 * Wait for the calls that mglru_hook_enter() has counted. The hook is gone, so
 * that the counters only fall: a sum that misses some of it is too high.
 */
static void mglru_hook_drain(const struct mglru_hook *hook)
{
	long sum;
	int cpu;

	/* Nobody counts: RCU tasks has waited for all there is. */
	if (!hook->in_flight)
		return;
	for (;;) {
		sum = 0;
		for_each_possible_cpu(cpu)
			sum += READ_ONCE(*per_cpu_ptr(hook->in_flight, cpu));
		if (!sum)
			break;
		msleep(20);
	}
	/* The last ones may be preempted behind the counter. */
	synchronize_rcu_tasks();
}

/**
 * mglru_hook_attach - redirect, and prove it
 * @hook: a hook that mglru_hook_find() has found
 *
 * On return the handler is called on every entry of the function. Does nothing
 * if it is attached already. A failure leaves the function as it was and says
 * so in the kernel log, with cause and remedy.
 *
 * Context: process context, may sleep; the caller serialises attaching and
 * detaching. Takes ftrace's mutexes, text_mutex and the CPU hotplug lock.
 * Return: 0, -EBUSY if livepatch, another IPMODIFY user or a direct caller
 * holds the function, -EPERM if ftrace is switched off, -ENODEV if it is dead,
 * -EIO if the hook did not become live, what mglru_hook_find() returned if it
 * was never found, -ENOMEM.
 */
int mglru_hook_attach(struct mglru_hook *hook)
{
	int err, ret;

	if (hook->state == MGLRU_HOOK_ATTACHED)
		return 0;
	if (!hook->ip)
		return mglru_hook_fail(hook, hook->error ?: -ENOENT);

	err = ftrace_set_filter_ip(&hook->ops, hook->ip, 0, 0);
	if (err)
		return mglru_hook_fail(hook, err == -EINVAL ? -ENXIO : err);

	err = register_ftrace_function(&hook->ops);
	if (err) {
		if (err == -EBUSY && mglru_ftrace_enabled &&
		    !READ_ONCE(*mglru_ftrace_enabled))
			err = -EPERM;
		goto clear_filter;
	}

	if (!mglru_hook_is_live(hook)) {
		err = -EIO;
		goto unregister;
	}

	hook->state = MGLRU_HOOK_ATTACHED;
	hook->error = 0;
	return 0;

unregister:
	ret = unregister_ftrace_function(&hook->ops);
	if (ret) {
		hook->error = 0;
		mglru_hook_stuck(hook, ret);
		return mglru_hook_fail(hook, err);
	}
	mglru_hook_drain(hook);
clear_filter:
	/*
	 * Take the address out instead of ftrace_free_filter(): on 6.12 an ops
	 * whose filter was freed crashed when it was registered again.
	 */
	ftrace_set_filter_ip(&hook->ops, hook->ip, 1, 0);
	return mglru_hook_fail(hook, err);
}

/**
 * mglru_hook_detach - stop redirecting
 * @hook: the hook; nothing is done unless it is attached
 *
 * On return no task runs the handler or is inside the replacement.
 *
 * Context: process context; sleeps for RCU tasks, 0.3 to 3 s under load, and
 * for calls that have blocked in the replacement.
 */
void mglru_hook_detach(struct mglru_hook *hook)
{
	int err;

	if (hook->state != MGLRU_HOOK_ATTACHED)
		return;
	err = unregister_ftrace_function(&hook->ops);
	if (err) {
		mglru_hook_stuck(hook, err);
		return;
	}
	mglru_hook_drain(hook);
	ftrace_set_filter_ip(&hook->ops, hook->ip, 1, 0);
	hook->state = MGLRU_HOOK_IDLE;
}

/**
 * mglru_hook_state_name - the word that the hooks file prints
 * @hook: the hook
 */
const char *mglru_hook_state_name(const struct mglru_hook *hook)
{
	switch (READ_ONCE(hook->state)) {
	case MGLRU_HOOK_ATTACHED:
		return "attached";
	case MGLRU_HOOK_IDLE:
		return "idle";
	default:
		return "failed";
	}
}
