// SPDX-License-Identifier: GPL-2.0-only
/*
 * The table of policies. To add one is to add a line here: what it does is
 * said in rules (include/mglru_policy.h), and from the rules and from what the
 * running kernel does by itself (include/compat.h) follows which functions
 * have to be redirected for it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/printk.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "aging.h"
#include "credit.h"
#include "exec.h"
#include "placement.h"
#include "policy.h"
#include "vma.h"

const struct mglru_policy_desc mglru_policies[MGLRU_PLACEMENT_MASK + 1] = {
	[MGLRU_ORIGINAL] = {
		.name = "original",
	},
	[MGLRU_SET_ACTIVE] = {
		.name = "set_active",
		.fault = MGLRU_FAULT_ACTIVATE,
		.add = MGLRU_ADD_6_14,
		.refs = MGLRU_REFS_6_14,
	},
	[MGLRU_MARK_ACCESSED] = {
		.name = "mark_accessed",
		.fault = MGLRU_FAULT_ACCESS,
		.add = MGLRU_ADD_V2,
		.refs = MGLRU_REFS_V2,
	},
	[MGLRU_MARK_ACCESSED_V3] = {
		.name = "mark_accessed_v3",
		.fault = MGLRU_FAULT_ACCESS,
		.add = MGLRU_ADD_7_2,
		.refs = MGLRU_REFS_7_2,
	},
	[MGLRU_FAULT_YOUNGEST] = {
		.name = "fault_youngest",
		.fault = MGLRU_FAULT_ONCE,
		.add = MGLRU_ADD_YOUNGEST,
		.refs = MGLRU_REFS_7_2,
	},
	[MGLRU_READAHEAD_CREDIT] = {
		.name = "readahead_credit",
		.fault = MGLRU_FAULT_CREDIT,
		.add = MGLRU_ADD_7_2,
		.refs = MGLRU_REFS_7_2,
	},
};

/*
 * Words that combine with a placement by '+'; alone, they leave the placement
 * to the kernel. Those of the same field exclude each other.
 */
static const struct {
	const char *name;
	unsigned int bits;	/* in the policy value */
	unsigned int field;
} mglru_modifiers[] = {
	{ "exec_promotion", MGLRU_EXEC_ON, MGLRU_EXEC_MASK },
	{ "no_exec_promotion", MGLRU_EXEC_OFF, MGLRU_EXEC_MASK },
};

struct mglru_hook *const mglru_hooks[MGLRU_NR_HOOKS] = {
	[MGLRU_HOOK_ADD] = &mglru_hook_add,
	[MGLRU_HOOK_LRU_ADD] = &mglru_hook_lru_add,
	[MGLRU_HOOK_REFAULT] = &mglru_hook_refault,
	[MGLRU_HOOK_READAHEAD] = &mglru_hook_readahead,
	[MGLRU_HOOK_SET_REFS] = &mglru_hook_set_refs,
	[MGLRU_HOOK_UPDATE] = &mglru_hook_update,
	[MGLRU_HOOK_WALK_PUD] = &mglru_hook_walk_pud,
	[MGLRU_HOOK_WALK_PMD] = &mglru_hook_walk_pmd,
	[MGLRU_HOOK_LOOK_AROUND] = &mglru_hook_look_around,
	[MGLRU_HOOK_REFERENCED] = &mglru_hook_referenced,
	[MGLRU_HOOK_AGING] = &mglru_hook_aging,
};

#define MGLRU_EXEC_HOOKS	(BIT(MGLRU_HOOK_SET_REFS) | BIT(MGLRU_HOOK_UPDATE))
#define MGLRU_VMA_HOOKS		(BIT(MGLRU_HOOK_WALK_PUD) | BIT(MGLRU_HOOK_WALK_PMD) | \
				 BIT(MGLRU_HOOK_LOOK_AROUND) | BIT(MGLRU_HOOK_REFERENCED))

/**
 * mglru_policy_hooks - what a policy needs on this kernel
 * @policy: a policy value, with or without MGLRU_AGING_BATCHED
 *
 * Return: a mask of BIT(enum mglru_hook_id); 0 for original.
 */
unsigned int mglru_policy_hooks(unsigned int policy)
{
	const struct mglru_policy_desc *desc = mglru_policy_desc(policy);
	unsigned int mask = 0;

	if (desc->fault != MGLRU_FAULT_NATIVE)
		mask |= BIT(MGLRU_HOOK_ADD);
	if (desc->fault == MGLRU_FAULT_CREDIT)
		mask |= BIT(MGLRU_HOOK_REFAULT) | BIT(MGLRU_HOOK_READAHEAD);
	if (mglru_add_rule_needs_hook(desc->add))
		mask |= BIT(MGLRU_HOOK_LRU_ADD);
	if (mglru_refs_rule_needs_hook(desc->refs))
		mask |= BIT(MGLRU_HOOK_SET_REFS);
	if (mglru_exec_needs_hook(policy)) {
		mask |= MGLRU_EXEC_HOOKS;
		if (MGLRU_FINDS_VMA)
			mask |= MGLRU_VMA_HOOKS;
	}
	if (MGLRU_HAVE_FOLD && (policy & MGLRU_AGING_BATCHED))
		mask |= BIT(MGLRU_HOOK_AGING);
	return mask;
}

/**
 * mglru_policy_word - the words that a policy value can be made of
 * @nth: which one, from 0
 *
 * Return: the policy value that the word alone stands for, -1 behind the last.
 */
int mglru_policy_word(unsigned int nth)
{
	if (nth < MGLRU_NR_PLACEMENTS)
		return nth;
	nth -= MGLRU_NR_PLACEMENTS;
	return nth < ARRAY_SIZE(mglru_modifiers) ? (int)mglru_modifiers[nth].bits : -1;
}

/**
 * mglru_policy_find_hooks - find the functions of all policies
 *
 * Context: process context, may sleep; at load.
 * Return: 0 if at least one policy besides original can be had; -ENOMEM;
 * otherwise the errno of the first function that could not be found, logged.
 */
int mglru_policy_find_hooks(void)
{
	unsigned int nth, id, needed = 0;
	bool any = false;
	int policy, err = 0, ret;

	for (nth = 0; (policy = mglru_policy_word(nth)) >= 0; nth++)
		needed |= mglru_policy_hooks(policy);
	needed |= mglru_policy_hooks(MGLRU_AGING_BATCHED);

	for (id = 0; id < MGLRU_NR_HOOKS; id++) {
		if (!(needed & BIT(id)))
			continue;
		ret = mglru_hook_find(mglru_hooks[id]);
		if (!ret)
			continue;
		/* Nothing is known of the function: do not load without it. */
		if (ret == -ENOMEM)
			return ret;
		err = err ?: ret;
		pr_notice("%s: %s; what needs it is unavailable\n",
			  mglru_hooks[id]->func, mglru_hook_strerror(ret));
	}

	for (nth = 0; (policy = mglru_policy_word(nth)) >= 0; nth++)
		any |= mglru_policy_hooks(policy) &&
		       !mglru_policy_unavailable(policy, NULL, 0);
	any |= !mglru_policy_unavailable(MGLRU_AGING_BATCHED, NULL, 0);
	if (any)
		return 0;
	pr_err("no policy can be had on this kernel: none of its functions can be redirected\n");
	return err ?: -EOPNOTSUPP;
}

/**
 * mglru_policy_unavailable - why a policy cannot be had on this kernel
 * @policy: a policy value, or MGLRU_AGING_BATCHED
 * @buf: where a composed reason may be put; NULL if it does not matter
 * @size: of @buf
 *
 * Return: the reason, or NULL if the policy can be had.
 */
const char *mglru_policy_unavailable(unsigned int policy, char *buf, size_t size)
{
	const struct mglru_policy_desc *desc = mglru_policy_desc(policy);
	unsigned int id, needed = mglru_policy_hooks(policy);

	if (desc->fault == MGLRU_FAULT_CREDIT && !mglru_credit_knows_recent())
		return MGLRU_RECENT_FUNC ": no such function in this kernel, or it was inlined";
	if ((policy & MGLRU_EXEC_MASK) && !MGLRU_KERNEL_EXEC)
		return "before 6.14 the page table walk promotes everything on first access";
	if ((policy & MGLRU_AGING_BATCHED) && !MGLRU_HAVE_FOLD)
		return "before 6.14 inc_max_seq() has other arguments (.isra.0)";
	for (id = 0; id < MGLRU_NR_HOOKS; id++) {
		if (!(needed & BIT(id)) || mglru_hooks[id]->ip)
			continue;
		if (!buf)
			return "cannot be hooked";
		snprintf(buf, size, "%s: %s", mglru_hooks[id]->func,
			 mglru_hook_strerror(mglru_hooks[id]->error));
		return buf;
	}
	return NULL;
}

/**
 * mglru_policy_name - a policy value in words
 * @policy: a policy value or MGLRU_INHERIT; how it ages is not among the words
 * @buf: where to put them
 * @size: of @buf; MGLRU_POLICY_NAME is enough
 *
 * Return: @buf, with what mglru_policy_parse() reads back to @policy.
 */
const char *mglru_policy_name(unsigned int policy, char *buf, size_t size)
{
	unsigned int i;
	int len = 0;

	if (policy == MGLRU_INHERIT) {
		scnprintf(buf, size, "inherit");
		return buf;
	}
	policy &= ~MGLRU_AGING_BATCHED;
	if (!(policy & ~MGLRU_PLACEMENT_MASK) || (policy & MGLRU_PLACEMENT_MASK))
		len = scnprintf(buf, size, "%s", mglru_policy_desc(policy)->name);
	for (i = 0; i < ARRAY_SIZE(mglru_modifiers); i++)
		if ((policy & mglru_modifiers[i].field) == mglru_modifiers[i].bits)
			len += scnprintf(buf + len, size - len, "%s%s", len ? "+" : "",
					 mglru_modifiers[i].name);
	return buf;
}

/* What a user wrote, made fit for a log line: cut, and escaped by the caller. */
#define MGLRU_LOG_WORD		64

static int mglru_policy_reject(const char *where, const char *word, size_t len,
			       int error, const char *why)
{
	pr_warn("%s: '%*pE'%s: %s\n", where, (int)min_t(size_t, len, MGLRU_LOG_WORD),
		word, len > MGLRU_LOG_WORD ? "..." : "", why);
	return error;
}

/* Find a word; *@field is what of a policy value it settles. */
static int mglru_policy_find(const char *word, size_t len, unsigned int *field)
{
	unsigned int i;

	*field = MGLRU_PLACEMENT_MASK;
	for (i = 0; i < MGLRU_NR_PLACEMENTS; i++)
		if (strlen(mglru_policies[i].name) == len &&
		    !memcmp(mglru_policies[i].name, word, len))
			return i;
	for (i = 0; i < ARRAY_SIZE(mglru_modifiers); i++) {
		*field = mglru_modifiers[i].field;
		if (strlen(mglru_modifiers[i].name) == len &&
		    !memcmp(mglru_modifiers[i].name, word, len))
			return mglru_modifiers[i].bits;
	}
	return -EINVAL;
}

/**
 * mglru_policy_parse - read a policy value
 * @buf: what was written; one newline at its end is ignored
 * @len: its length in bytes
 * @where: what it is for, for the log; fit to be printed
 *
 * Return: the policy value or MGLRU_INHERIT; -EINVAL if it is no policy,
 * -EOPNOTSUPP if it is one that cannot be had on this kernel. The kernel log
 * then says which word is meant.
 */
int mglru_policy_parse(const char *buf, size_t len, const char *where)
{
	const char *word = buf, *end, *plus, *why;
	unsigned int policy = 0, settled = 0, field;
	char reason[96];
	size_t n;
	int ret;

	if (len && buf[len - 1] == '\n')
		len--;
	end = buf + len;
	if (len == strlen("inherit") && !memcmp(buf, "inherit", len))
		return MGLRU_INHERIT;

	for (;; word = plus + 1) {
		plus = memchr(word, '+', end - word) ?: end;
		n = plus - word;

		if (!n)
			return mglru_policy_reject(where, buf, len, -EINVAL,
						   "empty policy name");
		if (n == strlen("inherit") && !memcmp(word, "inherit", n))
			return mglru_policy_reject(where, buf, len, -EINVAL,
						   "inherit stands alone");
		if (n > strlen("aging=") && !memcmp(word, "aging=", strlen("aging=")))
			return mglru_policy_reject(where, word, n, -EINVAL,
						   "no policy; write it to mglru.aging");
		ret = mglru_policy_find(word, n, &field);
		if (ret < 0)
			return mglru_policy_reject(where, word, n, ret,
						   "unknown policy; see the file 'available'");
		if (settled & field)
			return mglru_policy_reject(where, word, n, -EINVAL,
						   field == MGLRU_PLACEMENT_MASK ?
						   "a second placement; write one" :
						   "repeats or contradicts a word before it");
		why = mglru_policy_unavailable(ret, reason, sizeof(reason));
		if (why)
			return mglru_policy_reject(where, word, n, -EOPNOTSUPP, why);
		settled |= field;
		policy |= ret;
		if (plus == end)
			return policy;
	}
}

/**
 * mglru_aging_name - how a cgroup ages, in a word
 * @policy: a policy value, or MGLRU_INHERIT
 */
const char *mglru_aging_name(unsigned int policy)
{
	if (policy == MGLRU_INHERIT)
		return "inherit";
	return policy & MGLRU_AGING_BATCHED ? "batched" : "original";
}

/**
 * mglru_aging_parse - read how a cgroup is to age
 * @buf: what was written; one newline at its end is ignored
 * @len: its length in bytes
 * @where: what it is for, for the log; fit to be printed
 *
 * Return: MGLRU_ORIGINAL, MGLRU_AGING_BATCHED or MGLRU_INHERIT; otherwise as
 * mglru_policy_parse().
 */
int mglru_aging_parse(const char *buf, size_t len, const char *where)
{
	static const unsigned int values[] = {
		MGLRU_INHERIT, MGLRU_ORIGINAL, MGLRU_AGING_BATCHED,
	};
	char reason[96];
	const char *why;
	unsigned int i;

	if (len && buf[len - 1] == '\n')
		len--;
	for (i = 0; i < ARRAY_SIZE(values); i++) {
		const char *name = mglru_aging_name(values[i]);

		if (strlen(name) != len || memcmp(name, buf, len))
			continue;
		why = values[i] == MGLRU_AGING_BATCHED ?
		      mglru_policy_unavailable(values[i], reason, sizeof(reason)) : NULL;
		if (why)
			return mglru_policy_reject(where, buf, len, -EOPNOTSUPP, why);
		return values[i];
	}
	return mglru_policy_reject(where, buf, len, -EINVAL,
				   "write inherit, original or batched");
}
