/* SPDX-License-Identifier: GPL-2.0-only */
/* What the test modules share. */
#ifndef MGLRU_TEST_H
#define MGLRU_TEST_H

#include <linux/kprobes.h>
#include <linux/mm_types.h>

/* Address of a kernel function's ftrace site, 0 if there is no such function. */
static inline unsigned long mglru_test_address(const char *func)
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

/* Called by, and written in, assembly: mglru_test_direct.c. */
void mglru_test_count(void);
void mglru_test_trampoline(void *folio);

/* Called by nobody: mglru_test_indirect.c. */
void mglru_test_planted_call(struct folio *folio);
void mglru_test_planted_jump(struct folio *folio);

/* Written in assembly, and called by it: mglru_test_park.c. */
void mglru_test_park(void);
void mglru_test_park_stub(void);

#endif /* MGLRU_TEST_H */
