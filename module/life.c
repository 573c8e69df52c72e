// SPDX-License-Identifier: GPL-2.0-only
/*
 * Follow memory cgroups as they come and go, on the unified hierarchy and on
 * v1 alike: both call the memory controller's css_online and css_offline.
 *
 * mem_cgroup_css_online() is redirected. The replacement runs the original and
 * then makes our state and its directory, so that both are there when the
 * mkdir (or the write to cgroup.subtree_control) returns and before the first
 * page is charged. It allocates, so it may sleep and is counted, see
 * mglru_hook_enter().
 *
 * mem_cgroup_css_offline() is observed on entry, from an ftrace handler that
 * may not sleep: it empties the slot and leaves the rest to the reaper, a work
 * item. css_free needs no observer: at css_offline the slot goes, and nobody
 * has looked up a state by css after that.
 *
 * A cgroup's directory may thus outlive the cgroup for a moment, and rmdir
 * returns long before css_offline. If the name is taken again meanwhile, the
 * newcomer evicts the directory of the dying one.
 *
 * A cgroup that cannot be given a state (out of memory) works as ever, has no
 * directory, and is placed by the kernel; it is tried again when a child of it
 * comes online. One whose directory cannot be made, or whose name begins with
 * "mglru." and would clash with our files, inherits and has no directory; nor
 * have those below it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/delay.h>
#include <linux/kernfs.h>
#include <linux/llist.h>
#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/static_call.h>
#include <linux/workqueue.h>

#include "life.h"
#include "memcg.h"
#include "sysfs.h"

/* See memcg.c for the order of locks. */
static DEFINE_MUTEX(mglru_life_lock);

static DEFINE_PER_CPU(long, mglru_online_in_flight);

/* Set once at load; never freed. */
static struct cgroup_subsys_state *mglru_root_css;

static LLIST_HEAD(mglru_dead);

static void mglru_reap(struct work_struct *work);
static DECLARE_WORK(mglru_reaper, mglru_reap);

static int mglru_no_css_online(struct cgroup_subsys_state *css)
{
	return -ENODEV;
}

DEFINE_STATIC_CALL(mglru_orig_css_online, mglru_no_css_online);

/*
 * The name of a cgroup's directory. The memory controller's tree has no gaps:
 * a css's parent belongs to the parent cgroup.
 */
static int mglru_cgroup_name(struct cgroup_subsys_state *css, char *buf, size_t size)
{
	int len;

	len = kernfs_path_from_node(css->cgroup->kn, css->parent->cgroup->kn, buf, size);
	if (len < 0 || len >= size || buf[0] != '/' || strchr(buf + 1, '/'))
		return -EINVAL;
	memmove(buf, buf + 1, len);
	return 0;
}

/* Remove the directories of a state and of all below it, children first. */
static void mglru_evict(struct mglru_memcg *top)
{
	struct mglru_memcg *pos = top, *parent;

	lockdep_assert_held(&mglru_life_lock);

	for (;;) {
		while (!list_empty(&pos->children))
			pos = list_first_entry(&pos->children, struct mglru_memcg, sibling);
		parent = pos->parent;
		mglru_sysfs_remove_state(pos);
		mglru_memcg_unlink(pos);
		if (pos == top)
			return;
		pos = parent;
	}
}

/*
 * Free the name for a newcomer. Its former holder is dying, or was renamed (v1
 * allows that, and nobody tells us): then give it its present name.
 */
static int mglru_clear_name(struct mglru_memcg *parent, const char *name, char *buf)
{
	struct mglru_memcg *other = mglru_sysfs_find_state(parent, name);
	int err;

	if (!other)
		return 0;
	if (other->dead || (READ_ONCE(other->css->flags) & CSS_DYING)) {
		mglru_evict(other);
		/* It may have been the last one that needed a hook. */
		schedule_work(&mglru_reaper);
		return 0;
	}
	err = mglru_cgroup_name(other->css, buf, NAME_MAX + 2);
	if (err)
		return err;
	if (mglru_sysfs_is_reserved(buf) || mglru_sysfs_find_state(parent, buf))
		return -EEXIST;
	return mglru_sysfs_rename_state(other, buf);
}

static int mglru_add_directory(struct mglru_memcg *state)
{
	char *name, *other;
	int err;

	if (!state->parent)
		return mglru_sysfs_add_state(state, NULL);
	if (!mglru_sysfs_has_state(state->parent))
		return 0;

	name = kmalloc(2 * (NAME_MAX + 2), GFP_KERNEL);
	if (!name)
		return -ENOMEM;
	other = name + NAME_MAX + 2;

	err = mglru_cgroup_name(state->css, name, NAME_MAX + 2);
	if (err)
		goto free;
	if (mglru_sysfs_is_reserved(name)) {
		pr_notice_ratelimited("cgroup '%*pE' has the name of one of our files: it inherits and has no directory\n",
				      (int)min_t(size_t, strlen(name), 64), name);
		goto free;
	}
	err = mglru_clear_name(state->parent, name, other);
	if (!err)
		err = mglru_sysfs_add_state(state, name);
free:
	kfree(name);
	return err;
}

static int mglru_life_create(struct cgroup_subsys_state *css)
{
	struct mglru_memcg *state, *parent = NULL;
	int err;

	if (css->parent) {
		parent = mglru_memcg_of(css->parent);
		if (!parent)
			return -ENODEV;
	}
	state = mglru_memcg_new(css, parent);
	if (IS_ERR(state))
		return PTR_ERR(state);
	err = mglru_add_directory(state);
	if (!err || !parent)
		return err;
	pr_warn_ratelimited("no directory for a memory cgroup (error %d): it inherits, as does all below it\n",
			    err);
	return 0;
}

/*
 * Make the states of a cgroup and of those above it that have none yet: while
 * the module loads, a child may come online before the walk reaches its
 * parent.
 */
static int mglru_life_ensure(struct cgroup_subsys_state *css)
{
	struct cgroup_subsys_state *pos, *missing;
	int err = 0;

	mutex_lock(&mglru_life_lock);
	while (!err) {
		missing = NULL;
		for (pos = css; pos && !mglru_memcg_of(pos); pos = pos->parent)
			missing = pos;
		if (!missing)
			break;
		err = mglru_life_create(missing);
	}
	mutex_unlock(&mglru_life_lock);

	/* A dying cgroup is no news. */
	if (err && err != -ENODEV)
		pr_warn_ratelimited("no entry for a memory cgroup (error %d): it stays at original\n",
				    err);
	return err;
}

/*
 * Stands in for mem_cgroup_css_online().
 *
 * Context: process context with cgroup_mutex held. Sleeps.
 */
static int mglru_css_online(struct cgroup_subsys_state *css)
{
	int ret;

	mglru_hook_enter(&mglru_online_in_flight);
	ret = static_call(mglru_orig_css_online)(css);
	if (!ret)
		mglru_life_ensure(css);
	mglru_hook_leave(&mglru_online_in_flight);
	return ret;
}

static void notrace mglru_css_online_handler(unsigned long ip, unsigned long parent_ip,
					     struct ftrace_ops *op,
					     struct ftrace_regs *fregs)
{
	ftrace_regs_set_instruction_pointer(fregs, (unsigned long)mglru_css_online);
}

static void mglru_aim_css_online(void *past)
{
	static_call_update(mglru_orig_css_online,
			   (int (*)(struct cgroup_subsys_state *))past);
}

static struct mglru_hook mglru_hook_online =
	MGLRU_HOOK_REDIRECT("mem_cgroup_css_online", mglru_css_online_handler,
			    mglru_aim_css_online, mglru_online_in_flight);

static void mglru_reap(struct work_struct *work)
{
	struct mglru_memcg *state, *next;
	struct llist_node *dead;

	/* In the order of dying: children before their parents. */
	dead = llist_reverse_order(llist_del_all(&mglru_dead));
	mutex_lock(&mglru_life_lock);
	llist_for_each_entry_safe(state, next, dead, dead_node) {
		if (state->linked)
			mglru_evict(state);
		kobject_put(&state->kobj);
	}
	mutex_unlock(&mglru_life_lock);

	mglru_memcg_settle();
}

static void notrace mglru_css_offline_handler(unsigned long ip, unsigned long parent_ip,
					      struct ftrace_ops *op,
					      struct ftrace_regs *fregs)
{
	struct cgroup_subsys_state *css = (void *)ftrace_regs_get_argument(fregs, 0);
	struct mglru_memcg *state = mglru_memcg_kill(mem_cgroup_from_css(css));

	if (state && llist_add(&state->dead_node, &mglru_dead))
		schedule_work(&mglru_reaper);
}

static struct mglru_hook mglru_hook_offline =
	MGLRU_HOOK_OBSERVE("mem_cgroup_css_offline", mglru_css_offline_handler);

struct mglru_hook *const mglru_life_hooks[MGLRU_NR_LIFE_HOOKS] = {
	&mglru_hook_online,
	&mglru_hook_offline,
};

/*
 * The root cgroup's css, wherever the memory controller is mounted; NULL for
 * the moment in which it moves from one hierarchy to another.
 */
static struct cgroup_subsys_state *mglru_find_root(void)
{
	struct cgroup_subsys_state *css;

	rcu_read_lock();
	css = rcu_dereference(memory_cgrp_subsys.root->cgrp.subsys[memory_cgrp_id]);
	rcu_read_unlock();
	return css;
}

/*
 * Make states for the cgroups that were there before us. Those that come
 * online during the walk are made by the hook, whether the walk sees them or
 * not; those that are not online yet must not be made by the walk, for if
 * css_online fails, no css_offline follows.
 *
 * Return: -EAGAIN if there was one of the latter that the hook has not made: it
 * may have been inside css_online already when the hook was attached.
 */
static int mglru_life_walk(struct cgroup_subsys_state *root)
{
	struct cgroup_subsys_state *pos;
	bool again = false;
	int err = 0;

	rcu_read_lock();
	css_for_each_descendant_pre(pos, root) {
		unsigned int flags = READ_ONCE(pos->flags);

		/* RCU keeps the state, too. */
		if ((flags & CSS_DYING) || mglru_memcg_of(pos))
			continue;
		if (!(flags & CSS_ONLINE)) {
			again = true;
			continue;
		}
		if (!css_tryget_online(pos))
			continue;
		rcu_read_unlock();
		err = mglru_life_ensure(pos);
		rcu_read_lock();
		/* A css on which the walk stands may go; the walk copes. */
		css_put(pos);
		if (err && err != -ENODEV)
			break;
		err = 0;
	}
	rcu_read_unlock();
	return err ?: again ? -EAGAIN : 0;
}

/**
 * mglru_life_init - find the functions that tell of cgroups
 *
 * Context: process context, may sleep.
 * Return: 0 or the errno of mglru_hook_find(), logged.
 */
int mglru_life_init(void)
{
	unsigned int i;
	int err;

	for (i = 0; i < MGLRU_NR_LIFE_HOOKS; i++) {
		err = mglru_hook_find(mglru_life_hooks[i]);
		if (err) {
			pr_err("cannot hook %s: %s; cgroups cannot be followed on this kernel\n",
			       mglru_life_hooks[i]->func, mglru_hook_strerror(err));
			return err;
		}
	}
	return 0;
}

/**
 * mglru_life_start - have a state for every memory cgroup from now on
 *
 * Context: process context, may sleep.
 * Return: 0, or an errno (logged) with everything undone.
 */
int mglru_life_start(void)
{
	int err;

	mglru_root_css = mglru_find_root();
	if (!mglru_root_css) {
		pr_err("the memory controller is just being mounted; load again\n");
		return -EAGAIN;
	}
	err = mglru_life_ensure(mglru_root_css);
	if (err)
		goto stop;
	err = mglru_hook_attach(&mglru_hook_offline);
	if (err)
		goto stop;
	err = mglru_hook_attach(&mglru_hook_online);
	if (err)
		goto stop;
	/* A cgroup in the making becomes online or vanishes: this ends. */
	while ((err = mglru_life_walk(mglru_root_css)) == -EAGAIN) {
		if (msleep_interruptible(20)) {
			err = -EINTR;
			break;
		}
	}
	if (err)
		goto stop;
	return 0;

stop:
	/* A policy may have been written already. */
	mglru_memcg_disarm();
	mglru_life_stop();
	return err;
}

/**
 * mglru_life_stop - stop following cgroups and remove all directories
 *
 * Context: process context; sleeps until nobody is in a replacement and no
 * file of ours is being read or written.
 */
void mglru_life_stop(void)
{
	struct mglru_memcg *root;

	/* css_offline last: as long as states are made, they have to be killed. */
	mglru_hook_detach(&mglru_hook_online);

	mutex_lock(&mglru_life_lock);
	root = mglru_memcg_of(mglru_root_css);
	if (root)
		mglru_evict(root);
	mutex_unlock(&mglru_life_lock);

	mglru_hook_detach(&mglru_hook_offline);
	flush_work(&mglru_reaper);
	mglru_reap(NULL);
}
