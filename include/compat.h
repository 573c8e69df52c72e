/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * All that differs between kernels. The rest of the module reads as if only
 * the newest kernel existed; no version test stands outside this file.
 *
 *			6.12		6.14 to 7.1	7.2		7.3
 * folio_memcg()	memcg pointer	memcg pointer	by objcg	by objcg
 * lru_gen_set_refs	none		(folio)		(folio)		(folio, vma_flags)
 * lru_add() rule	its own		6.14		7.2		7.2
 * lru_gen_set_refs rule -		6.14		7.2		7.2
 * walk_update_folio	none		(walk, folio, gen, dirty)	vma added
 * exec promotion	its own		no		no		yes
 * lru_gen_test_recent	inlined		four arguments	(and file)	(and file)
 * inc_max_seq	(.., bool, bool)	(lruvec, seq, swappiness)
 */
#ifndef MGLRU_COMPAT_H
#define MGLRU_COMPAT_H

#include <linux/version.h>

#if LINUX_VERSION_CODE < KERNEL_VERSION(6, 12, 0)
#error "mglru_policy needs Linux 6.12 or later"
#endif
#ifndef CONFIG_X86_64
#error "mglru_policy has been written for x86-64 only"
#endif
#ifndef CONFIG_LRU_GEN
#error "mglru_policy needs a kernel with the multi-gen LRU (CONFIG_LRU_GEN)"
#endif
#ifndef CONFIG_MEMCG
#error "mglru_policy needs a kernel with memory cgroups (CONFIG_MEMCG)"
#endif
#if !defined(CONFIG_DYNAMIC_FTRACE_WITH_ARGS) || !defined(CONFIG_KPROBES) || \
	!defined(CONFIG_HAVE_STATIC_CALL_INLINE)
#error "mglru_policy needs DYNAMIC_FTRACE_WITH_ARGS, KPROBES and inline static calls"
#endif

#include <linux/ftrace.h>
#include <linux/memcontrol.h>
#include <linux/mm_inline.h>
#include <linux/pagewalk.h>
#include <linux/rmap.h>
#include <linux/swap.h>

#include "mglru_policy.h"

/*
 * The flags word is an unsigned long, since 6.18 wrapped in a memdesc_flags_t
 * of the same size.
 */
static_assert(sizeof(((struct folio *)NULL)->flags) == sizeof(unsigned long));
#define mglru_flags(folio)	((unsigned long *)&(folio)->flags)

/*
 * The 16-bit id that indexes the kernel's own table of memory cgroups. Its
 * helper has changed its name (7.2's mem_cgroup_id() is the 64-bit cgroup id),
 * the field has not. It falls to 0, which is nobody's, once the id is given
 * back: read it once.
 */
static inline unsigned int mglru_memcg_id(struct mem_cgroup *memcg)
{
	return (unsigned short)READ_ONCE(memcg->id.id);
}

/* What this kernel does by itself, in the words of mglru_policy.h. */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 2, 0)
#define MGLRU_KERNEL_ADD	MGLRU_ADD_7_2
#define MGLRU_KERNEL_REFS	MGLRU_REFS_7_2
#define MGLRU_HAVE_SET_REFS	1
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MGLRU_KERNEL_ADD	MGLRU_ADD_6_14
#define MGLRU_KERNEL_REFS	MGLRU_REFS_6_14
#define MGLRU_HAVE_SET_REFS	1
#else
/* Before 4d5d14a01e2c: rules of its own, and no lru_gen_set_refs(). */
#define MGLRU_KERNEL_ADD	MGLRU_ADD_NATIVE
#define MGLRU_KERNEL_REFS	MGLRU_REFS_NATIVE
#define MGLRU_HAVE_SET_REFS	0
#endif

/*
 * Before 4d5d14a01e2c lru_gen_add_folio() forgot how often an active folio had
 * been accessed; from then on it clears nothing but PG_active.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MGLRU_ADD_KEEPS_REFS	1
#else
#define MGLRU_ADD_KEEPS_REFS	0
#endif

/*
 * Are mapped executable file folios promoted on their first access? 0: no,
 * MGLRU_EXEC_OFF or MGLRU_EXEC_ON: what the kernel does is what that says.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#define MGLRU_KERNEL_EXEC	MGLRU_EXEC_ON
#elif LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MGLRU_KERNEL_EXEC	MGLRU_EXEC_OFF
#else
#define MGLRU_KERNEL_EXEC	0
#endif

/*
 * 7.3, "mm: mglru: promote mapped executable folios after first usage": whoever
 * looks at an access is told the flags of the mapping. Before, we have to find
 * the mapping ourselves, see vma.c; that is for 6.14 to 7.2.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(7, 3, 0)
#define MGLRU_FINDS_VMA		0
#define MGLRU_SET_REFS_PROTO	struct folio *folio, const vma_flags_t *vma_flags
#define MGLRU_SET_REFS_ARGS	folio, vma_flags
#define MGLRU_SET_REFS_PLAIN	folio, &mglru_plain_vma.flags
#define MGLRU_SET_REFS_EXEC	vma_flags_test(vma_flags, VMA_EXEC_BIT)
#define MGLRU_UPDATE_PROTO	struct lru_gen_mm_walk *walk, struct vm_area_struct *vma, \
				struct folio *folio, int new_gen, bool dirty
#define MGLRU_UPDATE_ARGS	walk, vma, folio, new_gen, dirty
#define MGLRU_UPDATE_PLAIN	walk, &mglru_plain_vma, folio, new_gen, dirty
#define MGLRU_UPDATE_EXEC	(vma->vm_flags & VM_EXEC)
#define MGLRU_UPDATE_FOLIO	2	/* which argument */
#else
#define MGLRU_FINDS_VMA		MGLRU_HAVE_SET_REFS
#define MGLRU_SET_REFS_PROTO	struct folio *folio
#define MGLRU_SET_REFS_ARGS	folio
#define MGLRU_SET_REFS_PLAIN	folio
#define MGLRU_SET_REFS_EXEC	false
#define MGLRU_UPDATE_PROTO	struct lru_gen_mm_walk *walk, struct folio *folio, \
				int new_gen, bool dirty
#define MGLRU_UPDATE_ARGS	walk, folio, new_gen, dirty
#define MGLRU_UPDATE_PLAIN	walk, folio, new_gen, dirty
#define MGLRU_UPDATE_EXEC	false
#define MGLRU_UPDATE_FOLIO	1
#endif

/*
 * Is a refault recent, and whose? Up to 7.1 the function does not know the last
 * argument; what is in its register then goes unread. 6.12 has inlined it in
 * its callers, of which one can be called; whose a shadow entry is has to be
 * read from it as unpack_shadow() does (a cgroup that is gone is nobody's).
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
struct mglru_recent {
	struct lruvec *lruvec;
	unsigned long token;
	bool workingset;
};

#define MGLRU_RECENT_FUNC	"lru_gen_test_recent"
#define MGLRU_RECENT_PROTO	void *shadow, struct lruvec **lruvec, \
				unsigned long *token, bool *workingset, bool file
#define MGLRU_RECENT_AS(shadow, found) \
	shadow, &(found)->lruvec, &(found)->token, &(found)->workingset, true

static inline bool mglru_recent_is_of(void *shadow, struct mglru_recent *found,
				      struct mem_cgroup *memcg, int nid)
{
	return found->lruvec == &memcg->nodeinfo[nid]->lruvec;
}
#else
struct mglru_recent {
	bool workingset;
};

#define MGLRU_RECENT_FUNC	"workingset_test_recent"
#define MGLRU_RECENT_PROTO	void *shadow, bool file, bool *workingset, bool flush
#define MGLRU_RECENT_AS(shadow, found) \
	shadow, true, &(found)->workingset, false

static inline bool mglru_recent_is_of(void *shadow, struct mglru_recent *found,
				      struct mem_cgroup *memcg, int nid)
{
	/* Behind the workingset bit come the node and the memcg's id. */
	unsigned long entry = xa_to_value(shadow) >> 1;

	return (entry & ((1UL << NODES_SHIFT) - 1)) == nid &&
	       ((entry >> NODES_SHIFT) & USHRT_MAX) == mglru_memcg_id(memcg);
}
#endif

/*
 * Since 6.14 inc_max_seq(lruvec, seq, swappiness); before, two bools told what
 * may be folded, and GCC drops one of them (.isra.0): nothing to stand in for.
 */
#if LINUX_VERSION_CODE >= KERNEL_VERSION(6, 14, 0)
#define MGLRU_HAVE_FOLD		1
#else
#define MGLRU_HAVE_FOLD		0
#endif

/* A swappiness above it means "anonymous memory only". 7.3 hides it in mm/. */
#ifndef MAX_SWAPPINESS
#define MAX_SWAPPINESS		200
#endif

/* What an ftrace site holds that nobody uses. */
#define MGLRU_NOP5	{ 0x0f, 0x1f, 0x44, 0x00, 0x00 }

#endif /* MGLRU_COMPAT_H */
