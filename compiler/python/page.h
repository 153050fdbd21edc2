/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_PAGE_H
#define TACFS_COMPILER_PYTHON_PAGE_H

/*
 * All that is to be known of one code object before its disassembly can be
 * written: instructions, which of them start lines or are jumped to, columns.
 */

#include "compiler/python/exceptions.h"
#include "compiler/python/program.h"

enum line_mark {
	MARK_NOTHING, /* the line goes on */
	MARK_LINE,
	MARK_NO_LINE
};

struct page {
	struct program program;
	struct handlers handlers;
	uint8_t *marks;	       /* enum line_mark, by instruction */
	int64_t *line_numbers; /* by instruction, where MARK_LINE stands */
	bool *is_target;       /* by instruction */
	uint64_t *labels;      /* offsets in order, each once; from 3.13 on */
	size_t label_count;
	struct code **nested; /* the code objects among the constants */
	size_t nested_count;
	unsigned line_width;   /* 0: there is no such column */
	unsigned offset_width; /* before 3.13 */
	unsigned label_width;  /* from 3.13 on */
};

/*
 * The page of a code object, made at the first call and kept in code->page, so
 * ask with one Python only. Returns 0; -EBADMSG, with *why a static string,
 * when that Python has not written this; or as memory_take().
 */
int page_of(const struct python *python, struct code *code, struct arena *arena,
	    const struct page **page, const char **why);

/* The number of the label at an offset, from 1 on; 0 when there is none. */
size_t page_label(const struct page *page, uint64_t offset);

#endif
