/* SPDX-License-Identifier: GPL-2.0-only */
/*
 * TEXT_PAGES functions, one at the start of each page. No two are the same, and
 * text_page_result() knows what each returns.
 */
#ifndef __x86_64__
#error "workload B is written for x86-64; add functions for this architecture"
#endif

	.section .text.pages, "ax", @progbits
	.globl	text_pages
	.type	text_pages, @object
	.globl	text_pages_end
	.type	text_pages_end, @object

	.balign	4096, 0xcc
text_pages:
	.set	i, 0
	.rept	TEXT_PAGES
	leaq	i(%rdi, %rdi, 2), %rax
	xorq	$(i * 40507 + 1), %rax
	rolq	$(i % 63 + 1), %rax
	ret
	.balign	4096, 0xcc
	.set	i, i + 1
	.endr
text_pages_end:

	.section .note.GNU-stack, "", @progbits
