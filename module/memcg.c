// SPDX-License-Identifier: GPL-2.0-only
/*
 * Per-cgroup state, the inheritance of policies, and what is in force.
 *
 * Each memory cgroup that is online has a struct mglru_memcg. They form the
 * same tree as the cgroups. What an administrator writes is @asked, and, for how
 * the cgroup ages, @asked_aging; what is in force, @effective, is made of the two
 * or, where one of them is inherit, of the parent's @effective. It is worked out
 * when something is written, from there down, so that a reader never climbs.
 *
 * Memory paths know nothing of the tree. They read one word, the slot with the
 * number of the folio's memcg id:
 *
 *	 mglru_slots[id]   63                        6 5       0
 *			  +---------------------------+---------+
 *			  | struct mglru_memcg, addr. | policy  |
 *			  +---------------------------+---------+
 *
 * Address and policy change together. Policy 0, original, needs no look at the
 * state at all. For any other, the state names the memcg that it is for, which
 * must be the folio's: an id that was given back and taken by another cgroup
 * never lends a policy (see mglru_slot_of()).
 *
 * A slot is filled when the cgroup comes online, before mkdir returns, and
 * emptied when it goes offline, before its id can be given back. What is still
 * charged to a cgroup after that is placed by the kernel, up to 7.1; from 7.2 on
 * the kernel hands it to the parent, whose policy then holds.
 *
 * Locks, outermost first:
 *
 *   cgroup_mutex	the kernel's; held while cgroups come and go, never taken
 *			here
 *   mglru_life_lock	creation and removal: who is in the tree, directories.
 *			Removing a directory waits for writes to its files.
 *   mglru_config_lock	one write of a policy at a time, with the attaching
 *			and detaching of hooks: may be held for seconds. Nobody
 *			takes it who holds cgroup_mutex or the life lock; but
 *			they wait for a writer who waits for it, if it is to
 *			their own cgroup's file. That delays, it cannot lock up.
 *   mglru_tree_lock	@asked, @effective, and the tree. Short.
 *   mglru_slot_lock	slots and @dead. A spinlock, as the observer of
 *			css_offline takes it in an ftrace handler.
 *
 * A hook is needed as long as the policy of a cgroup in the tree asks for it:
 * mglru_asked[] counts them. It is attached before the first slot can show the
 * policy, and detached after the last one has stopped showing it.
 */
#define pr_fmt(fmt) KBUILD_MODNAME ": " fmt

#include <linux/mutex.h>
#include <linux/printk.h>
#include <linux/slab.h>
#include <linux/spinlock.h>
#include <linux/vmalloc.h>

#include "memcg.h"
#include "policy.h"
#include "sysfs.h"

unsigned long *mglru_slots __read_mostly;

static DEFINE_MUTEX(mglru_config_lock);
static DEFINE_MUTEX(mglru_tree_lock);
static DEFINE_RAW_SPINLOCK(mglru_slot_lock);

static struct kmem_cache *mglru_memcg_cache;
static struct mglru_memcg *mglru_root;

/* How many cgroups in the tree ask for each value, of either kind; tree lock. */
static unsigned int mglru_asked[MGLRU_POLICY_MASK + 1];

/* Set when the module is leaving: no policy may be set any more. */
static bool mglru_leaving;

/* States that exist, the released ones included until RCU has freed them. */
static atomic_t mglru_nr_states = ATOMIC_INIT(0);
static DECLARE_WAIT_QUEUE_HEAD(mglru_states_gone);

/*
 * Make @effective visible to the memory paths.
 *
 * A cgroup that has begun to die is not published for the first time: its
 * css_offline may have been observed already, when there was no slot yet, and
 * nobody would empty it. CSS_DYING is set long before css_offline, under the
 * cgroup_mutex; if we do not see it, css_offline is still to come and finds
 * the slot, under this lock.
 */
static bool mglru_slot_publish(struct mglru_memcg *state, bool first)
{
	unsigned long flags;
	bool dead;

	raw_spin_lock_irqsave(&mglru_slot_lock, flags);
	dead = state->dead || (first && (READ_ONCE(state->css->flags) & CSS_DYING));
	if (!dead)
		/* Pairs with READ_ONCE() in mglru_slot_of(). */
		smp_store_release(&mglru_slots[state->id],
				  (unsigned long)state | state->effective);
	raw_spin_unlock_irqrestore(&mglru_slot_lock, flags);
	return !dead;
}

/**
 * mglru_memcg_of - the state of a cgroup
 * @css: its memory controller state; the caller keeps it from being freed
 *
 * Context: the life lock, or an RCU read side, keeps the state.
 * Return: the state, NULL if there is none (any more).
 */
struct mglru_memcg *mglru_memcg_of(struct cgroup_subsys_state *css)
{
	struct mem_cgroup *memcg = mem_cgroup_from_css(css);
	unsigned long slot = READ_ONCE(mglru_slots[mglru_memcg_id(memcg)]);
	struct mglru_memcg *state = mglru_slot_state(slot);

	return state && state->memcg == memcg ? state : NULL;
}

/**
 * mglru_memcg_kill - a memory cgroup goes offline: forget its policy
 * @memcg: the cgroup
 *
 * From here on the kernel places what is charged to @memcg, and the id can be
 * given back.
 *
 * Context: any; called by an ftrace handler. Takes a raw spinlock.
 * Return: the state, now dead, which the caller has to hand to the reaper;
 * NULL if there was none.
 */
struct mglru_memcg *mglru_memcg_kill(struct mem_cgroup *memcg)
{
	struct mglru_memcg *state;
	unsigned int id = mglru_memcg_id(memcg);
	unsigned long flags;

	raw_spin_lock_irqsave(&mglru_slot_lock, flags);
	state = mglru_slot_state(mglru_slots[id]);
	if (state && state->memcg == memcg) {
		WRITE_ONCE(mglru_slots[id], 0);
		state->dead = true;
	} else {
		state = NULL;
	}
	raw_spin_unlock_irqrestore(&mglru_slot_lock, flags);
	return state;
}

static void mglru_memcg_free(struct mglru_memcg *state)
{
	mglru_credit_free(&state->credit);
	free_percpu(state->counters);
	kmem_cache_free(mglru_memcg_cache, state);
	if (atomic_dec_and_test(&mglru_nr_states))
		wake_up(&mglru_states_gone);
}

static void mglru_memcg_free_rcu(struct rcu_head *rcu)
{
	mglru_memcg_free(container_of(rcu, struct mglru_memcg, rcu));
}

/**
 * mglru_memcg_release - the last reference to a state is gone
 * @state: the state
 *
 * Context: any; called by its kobject. Replacements may still count into it
 * until a grace period has passed.
 */
void mglru_memcg_release(struct mglru_memcg *state)
{
	call_rcu(&state->rcu, mglru_memcg_free_rcu);
}

static void mglru_ask(unsigned int value, int delta)
{
	lockdep_assert_held(&mglru_tree_lock);

	if (value != MGLRU_INHERIT)
		mglru_asked[value] += delta;
}

/**
 * mglru_memcg_new - make the state of a cgroup and put it in force
 * @css: the cgroup's memory controller state
 * @parent: the parent's state, NULL for the root
 *
 * The new cgroup inherits; from the return on that holds for every folio.
 *
 * Context: process context, may sleep; the life lock is held.
 * Return: the state with its kobject initialised but not added; -ENOMEM;
 * -ENODEV if the cgroup is dying.
 */
struct mglru_memcg *mglru_memcg_new(struct cgroup_subsys_state *css,
				    struct mglru_memcg *parent)
{
	struct mglru_memcg *state;

	state = kmem_cache_zalloc(mglru_memcg_cache, GFP_KERNEL);
	if (!state)
		return ERR_PTR(-ENOMEM);
	state->counters = alloc_percpu(struct mglru_counters);
	if (!state->counters || mglru_credit_init(&state->credit)) {
		free_percpu(state->counters);
		kmem_cache_free(mglru_memcg_cache, state);
		return ERR_PTR(-ENOMEM);
	}
	atomic_inc(&mglru_nr_states);

	state->css = css;
	state->memcg = mem_cgroup_from_css(css);
	state->id = mglru_memcg_id(state->memcg);
	state->asked = parent ? MGLRU_INHERIT : MGLRU_ORIGINAL;
	state->asked_aging = state->asked;
	INIT_LIST_HEAD(&state->children);
	INIT_LIST_HEAD(&state->sibling);
	mglru_sysfs_init_state(state);

	mutex_lock(&mglru_tree_lock);
	state->effective = parent ? parent->effective : MGLRU_ORIGINAL;
	if (!mglru_slot_publish(state, true)) {
		mutex_unlock(&mglru_tree_lock);
		kobject_put(&state->kobj);
		return ERR_PTR(-ENODEV);
	}
	if (parent) {
		/* Given back when the state leaves the tree. */
		kobject_get(&parent->kobj);
		state->parent = parent;
		list_add_tail(&state->sibling, &parent->children);
	} else {
		mglru_root = state;
		mglru_ask(state->asked, 1);
		mglru_ask(state->asked_aging, 1);
	}
	state->linked = true;
	mutex_unlock(&mglru_tree_lock);
	return state;
}

/**
 * mglru_memcg_unlink - take a state out of the tree
 * @state: the state; its children have left before
 *
 * What it asked for does not count any more; if its slot is still there, it
 * falls back to original. The caller drops the first reference when nobody can
 * find the state by its slot.
 *
 * Context: process context, may sleep; the life lock is held.
 */
void mglru_memcg_unlink(struct mglru_memcg *state)
{
	struct mglru_memcg *parent;

	mutex_lock(&mglru_tree_lock);
	if (!state->linked) {
		mutex_unlock(&mglru_tree_lock);
		return;
	}
	state->linked = false;
	list_del_init(&state->sibling);
	mglru_ask(state->asked, -1);
	mglru_ask(state->asked_aging, -1);
	state->effective = MGLRU_ORIGINAL;
	mglru_slot_publish(state, false);
	parent = state->parent;
	state->parent = NULL;
	mutex_unlock(&mglru_tree_lock);

	if (parent)
		kobject_put(&parent->kobj);
}

/* The state after @pos in @top's subtree, parents first; @skip its children. */
static struct mglru_memcg *mglru_memcg_next(struct mglru_memcg *pos,
					    struct mglru_memcg *top, bool skip)
{
	if (!skip && !list_empty(&pos->children))
		return list_first_entry(&pos->children, struct mglru_memcg, sibling);
	for (; pos != top; pos = pos->parent)
		if (!list_is_last(&pos->sibling, &pos->parent->children))
			return list_next_entry(pos, sibling);
	return NULL;
}

/* The bits in @mask of what is in force where @asked was written. */
static unsigned int mglru_in_force(const struct mglru_memcg *state, unsigned int asked,
				   unsigned int mask)
{
	return (asked == MGLRU_INHERIT ? state->parent->effective : asked) & mask;
}

/*
 * Put in force what is asked for from @top down. Where nothing changes, nothing
 * changes below.
 */
static void mglru_memcg_propagate(struct mglru_memcg *top)
{
	struct mglru_memcg *pos = top;
	unsigned int effective, changed;
	bool same;

	lockdep_assert_held(&mglru_tree_lock);

	while (pos) {
		effective = mglru_in_force(pos, pos->asked, ~MGLRU_AGING_BATCHED) |
			    mglru_in_force(pos, pos->asked_aging, MGLRU_AGING_BATCHED);
		changed = effective ^ pos->effective;
		same = !changed;
		if (!same) {
			pos->effective = effective;
			pos->changes++;
			mglru_slot_publish(pos, false);
			if (changed & MGLRU_PLACEMENT_MASK)
				mglru_credit_reset(pos);
		}
		pos = mglru_memcg_next(pos, top, same);
	}
}

/**
 * mglru_memcg_users - how many cgroups ask for a hook
 * @hook_mask: BIT(enum mglru_hook_id), one or more of them
 *
 * Cgroups that inherit are not counted.
 *
 * Context: process context, may sleep.
 */
unsigned int mglru_memcg_users(unsigned int hook_mask)
{
	unsigned int policy, users = 0;

	mutex_lock(&mglru_tree_lock);
	for (policy = 0; policy <= MGLRU_POLICY_MASK; policy++)
		if (mglru_asked[policy] && (mglru_policy_hooks(policy) & hook_mask))
			users += mglru_asked[policy];
	mutex_unlock(&mglru_tree_lock);
	return users;
}

static void mglru_detach_unneeded(void)
{
	unsigned int id;

	lockdep_assert_held(&mglru_config_lock);

	for (id = 0; id < MGLRU_NR_HOOKS; id++)
		if (!mglru_memcg_users(BIT(id)))
			mglru_hook_detach(mglru_hooks[id]);
}

/**
 * mglru_memcg_settle - detach what no cgroup asks for any more
 *
 * Context: process context; may sleep for seconds. After a cgroup that asked
 * for a policy has left the tree.
 */
void mglru_memcg_settle(void)
{
	mutex_lock(&mglru_config_lock);
	mglru_detach_unneeded();
	mutex_unlock(&mglru_config_lock);
}

/**
 * mglru_memcg_set - set the policy of a cgroup, or how it ages
 * @state: the cgroup's state
 * @asked: what to set, its @asked or its @asked_aging
 * @value: what mglru_policy_parse() or mglru_aging_parse() returned
 *
 * On return the value is in force for the cgroup and all that inherit from
 * it. If a hook cannot be attached, nothing has changed and the kernel log says
 * why.
 *
 * Context: process context; may sleep for seconds while hooks come and go.
 * Return: 0; -EINVAL for inherit at the root; -ENODEV if the cgroup or the
 * module is going away; -EINTR if killed while waiting for another write;
 * the errno of mglru_hook_attach().
 */
int mglru_memcg_set(struct mglru_memcg *state, u8 *asked, unsigned int value)
{
	unsigned int id, needs;
	int err;

	if (value == MGLRU_INHERIT && mglru_memcg_is_root(state)) {
		pr_warn("the root has no parent to inherit from; write another value, such as original\n");
		return -EINVAL;
	}

	err = mutex_lock_killable(&mglru_config_lock);
	if (err)
		return err;
	if (mglru_leaving) {
		err = -ENODEV;
		goto unlock;
	}

	needs = value == MGLRU_INHERIT ? 0 : mglru_policy_hooks(value);
	for (id = 0; id < MGLRU_NR_HOOKS; id++) {
		if (!(needs & BIT(id)))
			continue;
		err = mglru_hook_attach(mglru_hooks[id]);
		if (err)
			goto detach;
	}

	mutex_lock(&mglru_tree_lock);
	if (!state->linked || state->dead) {
		err = -ENODEV;
	} else {
		mglru_ask(*asked, -1);
		mglru_ask(value, 1);
		WRITE_ONCE(*asked, value);
		mglru_memcg_propagate(state);
	}
	mutex_unlock(&mglru_tree_lock);

detach:
	mglru_detach_unneeded();
unlock:
	mutex_unlock(&mglru_config_lock);
	return err;
}

/**
 * mglru_memcg_set_root - set the default of the host
 * @policy: a policy value, not MGLRU_INHERIT
 *
 * Context, Return: see mglru_memcg_set().
 */
int mglru_memcg_set_root(unsigned int policy)
{
	return mglru_memcg_set(mglru_root, &mglru_root->asked, policy);
}

/**
 * mglru_memcg_is_root - is this the state of the root cgroup
 * @state: the state
 */
bool mglru_memcg_is_root(const struct mglru_memcg *state)
{
	return state == mglru_root;
}

/**
 * mglru_memcg_init - make room for states
 *
 * Context: process context, may sleep.
 * Return: 0 or -ENOMEM.
 */
int mglru_memcg_init(void)
{
	mglru_memcg_cache = KMEM_CACHE(mglru_memcg, SLAB_HWCACHE_ALIGN);
	if (!mglru_memcg_cache)
		return -ENOMEM;
	mglru_slots = vcalloc(MGLRU_NR_SLOTS, sizeof(*mglru_slots));
	if (!mglru_slots) {
		kmem_cache_destroy(mglru_memcg_cache);
		return -ENOMEM;
	}
	return 0;
}

/**
 * mglru_memcg_disarm - back to original everywhere, for good
 *
 * First step of unloading: no policy can be set from here on, no slot shows
 * one, no hook is left on a memory path.
 *
 * Context: process context; sleeps until nobody is inside a replacement.
 */
void mglru_memcg_disarm(void)
{
	struct mglru_memcg *pos;
	unsigned int id;

	mutex_lock(&mglru_config_lock);
	mglru_leaving = true;

	mutex_lock(&mglru_tree_lock);
	for (pos = mglru_root; pos; pos = mglru_memcg_next(pos, mglru_root, false)) {
		pos->effective = MGLRU_ORIGINAL;
		mglru_slot_publish(pos, false);
	}
	mutex_unlock(&mglru_tree_lock);

	for (id = 0; id < MGLRU_NR_HOOKS; id++)
		mglru_hook_detach(mglru_hooks[id]);
	mutex_unlock(&mglru_config_lock);
}

/**
 * mglru_memcg_exit - free what is left
 *
 * Last step of unloading: the observers are gone, no directory is left.
 *
 * Context: process context; sleeps until every state has been freed.
 */
void mglru_memcg_exit(void)
{
	unsigned int id;

	/* Whoever has a slot still has the reference that it was born with. */
	for (id = 0; id < MGLRU_NR_SLOTS; id++) {
		struct mglru_memcg *state = mglru_slot_state(mglru_slots[id]);

		if (!state)
			continue;
		WRITE_ONCE(mglru_slots[id], 0);
		kobject_put(&state->kobj);
	}
	wait_event(mglru_states_gone, !atomic_read(&mglru_nr_states));
	/* The callback that woke us up may not have returned yet. */
	rcu_barrier();
	vfree(mglru_slots);
	kmem_cache_destroy(mglru_memcg_cache);
}
