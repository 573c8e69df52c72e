/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * The hook engine: find, attach, detach and report a redirection of a kernel
 * function. It knows nothing of policies.
 */
#ifndef MGLRU_HOOK_H
#define MGLRU_HOOK_H

#include <linux/ftrace.h>
#include <linux/percpu.h>

enum mglru_hook_state {
	MGLRU_HOOK_UNKNOWN,	/* not looked for yet */
	MGLRU_HOOK_IDLE,	/* found, not attached */
	MGLRU_HOOK_ATTACHED,
	MGLRU_HOOK_FAILED,	/* not found, or the last attempt failed */
};

/**
 * struct mglru_hook - one kernel function and what is done to it
 * @func: name of the kernel function
 * @ops: the ftrace side; @ops.func is the handler, called on every entry with
 *	the function's arguments. A handler that redirects sets the instruction
 *	pointer and has FTRACE_OPS_FL_IPMODIFY; one that leaves it alone runs
 *	the original.
 * @aim: points the static call, by which the replacement reaches the original,
 *	past the hook; NULL for a hook that only observes
 * @in_flight: calls inside the replacement, counted by mglru_hook_enter() and
 *	mglru_hook_leave(); NULL if they need not be counted
 * @ip: address of the ftrace site, 0 if not found
 * @state: see &enum mglru_hook_state; changes under the caller's lock
 * @error: why @state is MGLRU_HOOK_FAILED, a negative errno
 *
 * Handlers run without ftrace's recursion lock (FTRACE_OPS_FL_RECURSION): that
 * would add some 30 instructions to every call, and a handler here is atomic
 * or RCU reads alone, holds no state, calls nothing that its own filter (one
 * address) contains, and may be entered again from an interrupt.
 */
struct mglru_hook {
	const char *func;
	struct ftrace_ops ops;
	void (*aim)(void *past);
	long __percpu *in_flight;
	unsigned long ip;
	enum mglru_hook_state state;
	int error;
};

/*
 * PERMANENT: with it, kernel.ftrace_enabled=0 is refused while we are attached;
 * without it, it would silently turn policies off.
 */
#define __MGLRU_HOOK_REDIRECT(_func, _handler, _aim, _in_flight)	\
{									\
	.func = (_func),						\
	.ops = {							\
		.func = (_handler),					\
		.flags = FTRACE_OPS_FL_IPMODIFY | FTRACE_OPS_FL_PERMANENT, \
	},								\
	.aim = (_aim),							\
	.in_flight = (_in_flight),					\
}

/* A replacement that may block anywhere. */
#define MGLRU_HOOK_REDIRECT(_func, _handler, _aim, _in_flight)		\
	__MGLRU_HOOK_REDIRECT(_func, _handler, _aim, &(_in_flight))

/* One that neither blocks nor reschedules, but on PREEMPT_RT. */
#define MGLRU_HOOK_REDIRECT_RT(_func, _handler, _aim, _in_flight)	\
	__MGLRU_HOOK_REDIRECT(_func, _handler, _aim,			\
			      IS_ENABLED(CONFIG_PREEMPT_RT) ? &(_in_flight) : NULL)

#define MGLRU_HOOK_OBSERVE(_func, _handler)				\
{									\
	.func = (_func),						\
	.ops = {							\
		.func = (_handler),					\
		.flags = FTRACE_OPS_FL_PERMANENT,			\
	},								\
}

/**
 * mglru_hook_enter - a replacement that may block begins
 * @in_flight: the hook's counter
 *
 * Detaching waits until as many calls have left as have entered. It has to be
 * told of a replacement that may block or reschedule, for RCU tasks does not wait
 * for a task that has been off the CPU by itself. On PREEMPT_RT that is any replacement
 * whose original takes a spinlock, see mglru_hook_enter_rt().
 *
 * Whoever has passed the handler but has not come here yet is at most
 * preempted, so that RCU tasks waits for it; the same holds on the way out.
 */
static __always_inline void mglru_hook_enter(long __percpu *in_flight)
{
	this_cpu_inc(*in_flight);
}

/**
 * mglru_hook_leave - and ends, perhaps on another CPU: only the sum counts
 * @in_flight: the hook's counter
 */
static __always_inline void mglru_hook_leave(long __percpu *in_flight)
{
	this_cpu_dec(*in_flight);
}

/* For replacements on memory paths, which block on PREEMPT_RT only. */
static __always_inline void mglru_hook_enter_rt(long __percpu *in_flight)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		mglru_hook_enter(in_flight);
}

static __always_inline void mglru_hook_leave_rt(long __percpu *in_flight)
{
	if (IS_ENABLED(CONFIG_PREEMPT_RT))
		mglru_hook_leave(in_flight);
}

int mglru_hook_init(void);
void *mglru_hook_data(const char *symbol);
int mglru_hook_find(struct mglru_hook *hook);
int mglru_hook_attach(struct mglru_hook *hook);
void mglru_hook_detach(struct mglru_hook *hook);
const char *mglru_hook_state_name(const struct mglru_hook *hook);
const char *mglru_hook_strerror(int error);

#endif /* MGLRU_HOOK_H */
