// SPDX-License-Identifier: GPL-2.0-only
/*
 * The files under /sys/kernel/mglru_policy.
 *
 * A cgroup's directory is the kobject of its state. A write to a file of it
 * takes the config lock and may wait there for hooks to come and go, but never
 * for anything that holds cgroup_mutex; removing a directory, which happens
 * under cgroup_mutex in the worst case, waits for such writes. So the two
 * cannot wait for each other.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/kobject.h>
#include <linux/mutex.h>
#include <linux/string.h>
#include <linux/sysfs.h>

#include "life.h"
#include "placement.h"
#include "policy.h"
#include "sysfs.h"

#define MGLRU_RESERVED	"mglru."

static struct kobject *mglru_base;

/* A kobject that is renamed frees its name: held to change and to copy one. */
static DEFINE_MUTEX(mglru_name_lock);

static struct mglru_memcg *mglru_state(struct kobject *kobj)
{
	return container_of(kobj, struct mglru_memcg, kobj);
}

static ssize_t mglru_asked_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	char name[MGLRU_POLICY_NAME];

	return sysfs_emit(buf, "%s\n", mglru_policy_name(READ_ONCE(mglru_state(kobj)->asked),
							 name, sizeof(name)));
}

/* Room for a file of a cgroup, as a line of the log names it. */
#define MGLRU_WHERE	128

static void mglru_name_file(struct kobject *kobj, struct kobj_attribute *attr, char *where)
{
	/* A cgroup's name is its user's choice: escape it, to four times its size. */
	mutex_lock(&mglru_name_lock);
	snprintf(where, MGLRU_WHERE, "%*pE/%s",
		 (int)min_t(size_t, strlen(kobject_name(kobj)), 24),
		 kobject_name(kobj), attr->attr.name);
	mutex_unlock(&mglru_name_lock);
}

static ssize_t mglru_asked_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t len)
{
	struct mglru_memcg *state = mglru_state(kobj);
	char where[MGLRU_WHERE];
	int policy, err;

	mglru_name_file(kobj, attr, where);
	policy = mglru_policy_parse(buf, len, where);
	if (policy < 0)
		return policy;
	err = mglru_memcg_set(state, &state->asked, policy);
	return err ?: len;
}

static ssize_t mglru_aging_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	return sysfs_emit(buf, "%s\n", mglru_aging_name(READ_ONCE(mglru_state(kobj)->asked_aging)));
}

static ssize_t mglru_aging_store(struct kobject *kobj, struct kobj_attribute *attr,
				 const char *buf, size_t len)
{
	struct mglru_memcg *state = mglru_state(kobj);
	char where[MGLRU_WHERE];
	int aging, err;

	mglru_name_file(kobj, attr, where);
	aging = mglru_aging_parse(buf, len, where);
	if (aging < 0)
		return aging;
	err = mglru_memcg_set(state, &state->asked_aging, aging);
	return err ?: len;
}

static ssize_t mglru_effective_aging_show(struct kobject *kobj, struct kobj_attribute *attr,
					  char *buf)
{
	return sysfs_emit(buf, "%s\n", mglru_aging_name(READ_ONCE(mglru_state(kobj)->effective)));
}

static ssize_t mglru_effective_show(struct kobject *kobj, struct kobj_attribute *attr,
				    char *buf)
{
	char name[MGLRU_POLICY_NAME];

	return sysfs_emit(buf, "%s\n", mglru_policy_name(READ_ONCE(mglru_state(kobj)->effective),
							 name, sizeof(name)));
}

static ssize_t mglru_stat_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	struct mglru_memcg *state = mglru_state(kobj);
	unsigned long balance, unseen;
	unsigned int i;
	int len = 0;

	mglru_credit_read(state, &balance, &unseen);
	for (i = 0; i < MGLRU_NR_STATS; i++)
		len += sysfs_emit_at(buf, len, "%s %lu\n", mglru_stat_name(i),
				     mglru_stat_read(state->counters, i) +
				     (i == MGLRU_STAT_CREDIT_EXPIRED ? unseen : 0));
	len += sysfs_emit_at(buf, len, "credit_balance %lu\n", balance);
	len += sysfs_emit_at(buf, len, "policy_changes %lu\n", READ_ONCE(state->changes));
	return len;
}

static struct kobj_attribute mglru_asked_attr =
	__ATTR(mglru.policy, 0644, mglru_asked_show, mglru_asked_store);
static struct kobj_attribute mglru_effective_attr =
	__ATTR(mglru.effective, 0444, mglru_effective_show, NULL);
static struct kobj_attribute mglru_aging_attr =
	__ATTR(mglru.aging, 0644, mglru_aging_show, mglru_aging_store);
static struct kobj_attribute mglru_effective_aging_attr =
	__ATTR(mglru.effective_aging, 0444, mglru_effective_aging_show, NULL);
static struct kobj_attribute mglru_stat_attr =
	__ATTR(mglru.stat, 0444, mglru_stat_show, NULL);

static struct attribute *mglru_state_attrs[] = {
	&mglru_asked_attr.attr,
	&mglru_effective_attr.attr,
	&mglru_aging_attr.attr,
	&mglru_effective_aging_attr.attr,
	&mglru_stat_attr.attr,
	NULL,
};
ATTRIBUTE_GROUPS(mglru_state);

static void mglru_state_release(struct kobject *kobj)
{
	mglru_memcg_release(mglru_state(kobj));
}

static const struct kobj_type mglru_state_ktype = {
	.release = mglru_state_release,
	.sysfs_ops = &kobj_sysfs_ops,
	.default_groups = mglru_state_groups,
};

/**
 * mglru_sysfs_init_state - make a state's kobject, without a directory
 * @state: the state
 */
void mglru_sysfs_init_state(struct mglru_memcg *state)
{
	kobject_init(&state->kobj, &mglru_state_ktype);
}

/**
 * mglru_sysfs_add_state - make the directory of a cgroup and its files
 * @state: the cgroup's state; its parent has a directory
 * @name: the cgroup's name, not yet in use there; NULL for the root
 *
 * Context: process context, may sleep; the life lock is held.
 * Return: 0 or an errno of kobject_add().
 */
int mglru_sysfs_add_state(struct mglru_memcg *state, const char *name)
{
	if (!state->parent)
		return kobject_add(&state->kobj, mglru_base, "cgroup");
	return kobject_add(&state->kobj, &state->parent->kobj, "%s", name);
}

/**
 * mglru_sysfs_find_state - whose directory has a name
 * @parent: state of the parent cgroup, which has a directory
 * @name: the name; not one of our files
 *
 * By the tree that kernfs keeps: a scan of the children would make the creation
 * of many cgroups in one place quadratic.
 *
 * Context: process context, the life lock is held, which keeps the state.
 * Return: the state, NULL if the name is free.
 */
struct mglru_memcg *mglru_sysfs_find_state(struct mglru_memcg *parent, const char *name)
{
	struct kernfs_node *kn = sysfs_get_dirent(parent->kobj.sd, name);
	struct kobject *kobj;

	if (!kn)
		return NULL;
	kobj = kn->priv;
	sysfs_put(kn);
	return mglru_state(kobj);
}

/**
 * mglru_sysfs_rename_state - rename the directory of a cgroup
 * @state: the cgroup's state, which has a directory
 * @name: the new name, not in use
 *
 * Context: process context, may sleep; the life lock is held.
 * Return: 0 or an errno of kobject_rename().
 */
int mglru_sysfs_rename_state(struct mglru_memcg *state, const char *name)
{
	int err;

	mutex_lock(&mglru_name_lock);
	err = kobject_rename(&state->kobj, name);
	mutex_unlock(&mglru_name_lock);
	return err;
}

/**
 * mglru_sysfs_remove_state - remove the directory of a cgroup
 * @state: the cgroup's state; nothing is done if it has no directory
 *
 * Context: process context, the life lock is held. Sleeps until nobody reads
 * or writes a file of the directory.
 */
void mglru_sysfs_remove_state(struct mglru_memcg *state)
{
	if (mglru_sysfs_has_state(state))
		kobject_del(&state->kobj);
}

/**
 * mglru_sysfs_is_reserved - would a cgroup's name clash with our files
 * @name: the name
 */
bool mglru_sysfs_is_reserved(const char *name)
{
	return str_has_prefix(name, MGLRU_RESERVED);
}

/* How mglru.aging's value is listed among the policies. */
#define MGLRU_AGING_WORD	"aging=batched"

static ssize_t available_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	char name[MGLRU_POLICY_NAME];
	unsigned int nth;
	int policy, len = 0;

	for (nth = 0; (policy = mglru_policy_word(nth)) >= 0; nth++)
		if (!mglru_policy_unavailable(policy, NULL, 0))
			len += sysfs_emit_at(buf, len, "%s\n",
					     mglru_policy_name(policy, name, sizeof(name)));
	if (!mglru_policy_unavailable(MGLRU_AGING_BATCHED, NULL, 0))
		len += sysfs_emit_at(buf, len, MGLRU_AGING_WORD "\n");
	return len;
}

static ssize_t unavailable_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	char name[MGLRU_POLICY_NAME], reason[96];
	unsigned int nth;
	int policy, len = 0;
	const char *why;

	for (nth = 0; (policy = mglru_policy_word(nth)) >= 0; nth++) {
		why = mglru_policy_unavailable(policy, reason, sizeof(reason));
		if (why)
			len += sysfs_emit_at(buf, len, "%s: %s\n",
					     mglru_policy_name(policy, name, sizeof(name)), why);
	}
	why = mglru_policy_unavailable(MGLRU_AGING_BATCHED, reason, sizeof(reason));
	if (why)
		len += sysfs_emit_at(buf, len, MGLRU_AGING_WORD ": %s\n", why);
	return len;
}

static int mglru_hook_show(const struct mglru_hook *hook, unsigned int users, char *buf, int len)
{
	int error = READ_ONCE(hook->error);

	if (hook->state == MGLRU_HOOK_UNKNOWN)
		return 0;
	if (error)
		return sysfs_emit_at(buf, len, "%s ftrace %s %u (%s)\n", hook->func,
				     mglru_hook_state_name(hook), users,
				     mglru_hook_strerror(error));
	return sysfs_emit_at(buf, len, "%s ftrace %s %u\n", hook->func,
			     mglru_hook_state_name(hook), users);
}

static ssize_t hooks_show(struct kobject *kobj, struct kobj_attribute *attr, char *buf)
{
	unsigned int i;
	int len = 0;

	if (!mglru_is_enabled())
		len += sysfs_emit_at(buf, len, "# %s: %s\n",
				     "the multi-gen LRU is switched off (/sys/kernel/mm/lru_gen/enabled)",
				     "policies stay set and do nothing");
	for (i = 0; i < MGLRU_NR_HOOKS; i++)
		len += mglru_hook_show(mglru_hooks[i], mglru_memcg_users(BIT(i)), buf, len);
	for (i = 0; i < MGLRU_NR_LIFE_HOOKS; i++)
		len += mglru_hook_show(mglru_life_hooks[i], 1, buf, len);
	return len;
}

static struct kobj_attribute mglru_available_attr = __ATTR_RO(available);
static struct kobj_attribute mglru_unavailable_attr = __ATTR_RO(unavailable);
static struct kobj_attribute mglru_hooks_attr = __ATTR_RO(hooks);

static const struct attribute *const mglru_base_attrs[] = {
	&mglru_available_attr.attr,
	&mglru_unavailable_attr.attr,
	&mglru_hooks_attr.attr,
	NULL,
};

/**
 * mglru_sysfs_exit - remove it; the cgroups' directories have gone before
 *
 * Context: process context. Sleeps until nobody reads a file.
 */
void mglru_sysfs_exit(void)
{
	/* At once: the last reference may be dropped later. */
	kobject_del(mglru_base);
	kobject_put(mglru_base);
}

/**
 * mglru_sysfs_init - make /sys/kernel/mglru_policy and the files in it
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mglru_sysfs_init(void)
{
	int err;

	mglru_base = kobject_create_and_add("mglru_policy", kernel_kobj);
	if (!mglru_base)
		return -ENOMEM;
	err = sysfs_create_files(mglru_base, mglru_base_attrs);
	if (err)
		mglru_sysfs_exit();
	return err;
}
