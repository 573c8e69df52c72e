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

#include "exec.h"
#include "placement.h"
#include "policy.h"

static const char mglru_not_built[] = "not in this version of the module";

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
		.missing = mglru_not_built,
	},
};

/* Words that combine with a placement by '+'; none is built yet. */
static const char *const mglru_modifiers[] = {
	"exec_promotion",
	"no_exec_promotion",
};

struct mglru_hook *const mglru_hooks[MGLRU_NR_HOOKS] = {
	[MGLRU_HOOK_ADD] = &mglru_hook_add,
	[MGLRU_HOOK_LRU_ADD] = &mglru_hook_lru_add,
	[MGLRU_HOOK_SET_REFS] = &mglru_hook_set_refs,
};

/**
 * mglru_policy_hooks - what a policy needs on this kernel
 * @policy: a policy value
 *
 * Return: a mask of BIT(enum mglru_hook_id); 0 for original.
 */
unsigned int mglru_policy_hooks(unsigned int policy)
{
	const struct mglru_policy_desc *desc = mglru_policy_desc(policy);
	unsigned int mask = 0;

	if (desc->fault != MGLRU_FAULT_NATIVE)
		mask |= BIT(MGLRU_HOOK_ADD);
	if (mglru_add_rule_needs_hook(desc->add))
		mask |= BIT(MGLRU_HOOK_LRU_ADD);
	if (mglru_refs_rule_needs_hook(desc->refs))
		mask |= BIT(MGLRU_HOOK_SET_REFS);
	return mask;
}

/**
 * mglru_policy_find_hooks - find the functions of all policies
 *
 * Context: process context, may sleep; at load.
 * Return: 0 if at least one policy besides original can be had; otherwise the
 * errno of the first function that could not be found, logged.
 */
int mglru_policy_find_hooks(void)
{
	unsigned int policy, id, needed = 0;
	bool any = false;
	int err = 0, ret;

	for (policy = 0; policy < MGLRU_NR_PLACEMENTS; policy++)
		needed |= mglru_policy_hooks(policy);

	for (id = 0; id < MGLRU_NR_HOOKS; id++) {
		if (!(needed & BIT(id)))
			continue;
		ret = mglru_hook_find(mglru_hooks[id]);
		if (!ret)
			continue;
		err = err ?: ret;
		pr_notice("%s: %s; policies that need it are unavailable\n",
			  mglru_hooks[id]->func, mglru_hook_strerror(ret));
	}

	for (policy = MGLRU_ORIGINAL + 1; policy < MGLRU_NR_PLACEMENTS; policy++)
		any |= !mglru_policy_unavailable(policy, NULL, 0);
	if (any)
		return 0;
	pr_err("no policy can be had on this kernel: none of its functions can be redirected\n");
	return err ?: -EOPNOTSUPP;
}

/**
 * mglru_policy_unavailable - why a policy cannot be had on this kernel
 * @policy: a policy value
 * @buf: where a composed reason may be put; NULL if it does not matter
 * @size: of @buf
 *
 * Return: the reason, or NULL if the policy can be had.
 */
const char *mglru_policy_unavailable(unsigned int policy, char *buf, size_t size)
{
	const struct mglru_policy_desc *desc = mglru_policy_desc(policy);
	unsigned int id, needed = mglru_policy_hooks(policy);

	if (desc->missing)
		return desc->missing;
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
 * mglru_policy_name - the word for a policy value
 * @policy: a policy value or MGLRU_INHERIT
 */
const char *mglru_policy_name(unsigned int policy)
{
	return policy == MGLRU_INHERIT ? "inherit" : mglru_policy_desc(policy)->name;
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

static int mglru_policy_word(const char *word, size_t len)
{
	unsigned int policy;

	for (policy = 0; policy < MGLRU_NR_PLACEMENTS; policy++) {
		const char *name = mglru_policies[policy].name;

		if (strlen(name) == len && !memcmp(name, word, len))
			return policy;
	}
	return -EINVAL;
}

static bool mglru_policy_is_modifier(const char *word, size_t len)
{
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mglru_modifiers); i++)
		if (strlen(mglru_modifiers[i]) == len &&
		    !memcmp(mglru_modifiers[i], word, len))
			return true;
	return false;
}

/**
 * mglru_policy_show_modifiers - lines for the modifiers that cannot be had
 * @buf: a page
 * @len: where to go on in it
 *
 * Return: number of bytes written.
 */
int mglru_policy_show_modifiers(char *buf, int len)
{
	int start = len;
	unsigned int i;

	for (i = 0; i < ARRAY_SIZE(mglru_modifiers); i++)
		len += sysfs_emit_at(buf, len, "%s: %s\n", mglru_modifiers[i],
				     mglru_not_built);
	return len - start;
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
	int policy = -1, ret;
	char reason[96];
	size_t n;

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
		if (mglru_policy_is_modifier(word, n))
			return mglru_policy_reject(where, word, n, -EOPNOTSUPP,
						   mglru_not_built);
		ret = mglru_policy_word(word, n);
		if (ret < 0)
			return mglru_policy_reject(where, word, n, ret,
						   "unknown policy; see the file 'available'");
		if (policy >= 0)
			return mglru_policy_reject(where, word, n, -EINVAL,
						   "a second placement; write one");
		policy = ret;
		if (plus == end)
			break;
	}

	why = mglru_policy_unavailable(policy, reason, sizeof(reason));
	if (why)
		return mglru_policy_reject(where, word, n, -EOPNOTSUPP, why);
	return policy;
}
