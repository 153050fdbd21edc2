/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_PAGE_H
#define TACFS_COMPILER_PYTHON_PAGE_H

/*
 * All that is to be known of one code object before its disassembly can be
 * written: instructions, which of them are jumped to, labels, columns.
 */

#include "compiler/python/exceptions.h"
#include "compiler/python/lines.h"
#include "compiler/python/program.h"

struct page {
	struct program program;
	uint64_t *labels; /* offsets in order, each once; from 3.13 on */
	size_t label_count;
	size_t handler_count;
	unsigned line_width;   /* 0: there is no such column */
	unsigned offset_width; /* before 3.13 */
	unsigned label_width;  /* from 3.13 on */
	const char *why;       /* that Python has not written this; else NULL */
	const uint8_t *where;  /* the byte of the input that tells */
};

/*
 * The page of a code object, in the arena. After a strict reading with a `why`
 * it is of no use; a lenient one leaves out what it cannot read. Returns 0, or
 * as memory_take().
 */
int page_make(const struct python *python, const struct code *code,
	      enum program_mode mode, struct arena *arena, struct page *page);

/* The number of the label at an offset, from 1 on; 0 when there is none. */
size_t page_label(const struct page *page, uint64_t offset);

#endif
