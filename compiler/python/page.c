/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/page.h"

#include <stdlib.h>

#include "compiler/memory.h"

enum {
	WIDTH_LEAST = 3,
	WIDTH_NO_LINE = 4, /* to set "--" apart */
	LABEL_EXTRA = 4,
	OFFSET_WIDTH = 4,
	WIDE_LINE = 1000,
	WIDE_OFFSET = 10000
};

static unsigned digits_of(int64_t number)
{
	unsigned digits = number < 0 ? 2 : 1;

	for (; number > 9 || number < -9; number /= 10)
		digits++;
	return digits;
}

static void set_fault(struct page *page, const char *why, const uint8_t *where)
{
	if (page->why)
		return;
	page->why = why;
	page->where = where;
}

/* What the width of the line column depends on. */
struct line_range {
	bool any;	/* there is a start of any kind */
	bool any_line;	/* of a line other than 0 */
	bool any_none;	/* of what has no line */
	int64_t most;	/* of the lines */
	int64_t most_0; /* the same, but at least 0 */
};

static struct line_range find_range(const struct python *python,
				    const struct code *code, struct page *page)
{
	struct lines lines = lines_of(python, code);
	struct line_range range = { .most = INT64_MIN };
	struct line_start start;

	while (lines_next(&lines, &start)) {
		range.any = true;
		range.any_none = range.any_none || !start.has_line;
		if (start.has_line && start.line > range.most_0)
			range.most_0 = start.line;
		if (!start.has_line || !start.line)
			continue;
		range.any_line = true;
		if (start.line > range.most)
			range.most = start.line;
	}
	if (lines.table.err)
		set_fault(page, lines.table.why,
			  code->lines.bytes + lines.table.where);
	return range;
}

/* Before 3.13: any line counts, and there may be no "no line". */
static unsigned old_line_width(const struct line_range *range)
{
	if (!range->any)
		return 0;
	return range->most_0 >= WIDE_LINE ? digits_of(range->most_0)
					  : WIDTH_LEAST;
}

static unsigned new_line_width(const struct line_range *range)
{
	unsigned width;

	if (!range->any_line)
		return 0;
	width = digits_of(range->most);
	if (width > WIDTH_LEAST)
		return width;
	return range->any_none ? WIDTH_NO_LINE : WIDTH_LEAST;
}

static void mark_target(struct page *page, uint64_t offset)
{
	const struct program *program = &page->program;

	if (program_has(program, offset))
		program->instructions[program->starting_at[offset / UNIT]]
			.is_target = true;
}

/* Also counts what will want a label at most. */
static size_t mark_jumps(const struct python *python, struct page *page)
{
	const struct program *program = &page->program;
	size_t jumps = 0;

	for (size_t i = 0; i < program->count; i++) {
		uint32_t target = program_target(python, program,
						 &program->instructions[i]);

		if (target == NO_TARGET)
			continue;
		mark_target(page, target);
		jumps++;
	}
	return jumps;
}

static void mark_handlers(const struct code *code, struct page *page)
{
	struct handlers handlers = handlers_of(code);
	struct handler handler;

	while (handlers_next(&handlers, &handler)) {
		page->handler_count++;
		if (handler.end > handler.start)
			mark_target(page, handler.target);
	}
	if (handlers.why)
		set_fault(page, handlers.why,
			  code->exceptions.bytes + handlers.table.where);
}

static int compare_offsets(const void *a, const void *b)
{
	uint64_t x = *(const uint64_t *)a, y = *(const uint64_t *)b;

	return x < y ? -1 : x > y;
}

static void sort_labels(struct page *page)
{
	size_t kept = 0;

	qsort(page->labels, page->label_count, sizeof(*page->labels),
	      compare_offsets);
	for (size_t i = 0; i < page->label_count; i++)
		if (!kept || page->labels[kept - 1] != page->labels[i])
			page->labels[kept++] = page->labels[i];
	page->label_count = kept;
}

static void add_label(struct page *page, uint64_t offset)
{
	page->labels[page->label_count++] = offset;
}

static void add_jumps(const struct python *python, struct page *page)
{
	const struct program *program = &page->program;

	for (size_t i = 0; i < program->count; i++) {
		uint32_t target = program_target(python, program,
						 &program->instructions[i]);

		if (target != NO_TARGET)
			add_label(page, target);
	}
}

static int number_labels(const struct python *python, const struct code *code,
			 size_t jumps, struct arena *arena, struct page *page)
{
	struct handlers handlers = handlers_of(code);
	struct handler handler;
	int err = 0;

	if (python->minor < 13)
		return 0;
	page->labels = memory_take(arena, jumps + 3 * page->handler_count,
				   sizeof(*page->labels), &err);
	if (!page->labels)
		return err;
	add_jumps(python, page);
	while (handlers_next(&handlers, &handler)) {
		add_label(page, handler.start);
		add_label(page, handler.end);
		add_label(page, handler.target);
	}
	sort_labels(page);
	return 0;
}

size_t page_label(const struct page *page, uint64_t offset)
{
	const uint64_t *label =
		bsearch(&offset, page->labels, page->label_count,
			sizeof(*page->labels), compare_offsets);

	return label ? (size_t)(label - page->labels) + 1 : 0;
}

static void set_widths(const struct python *python, const struct code *code,
		       struct page *page)
{
	struct line_range range = find_range(python, code, page);
	size_t size = code->bytecode.size;

	page->line_width = python->minor < 13 ? old_line_width(&range)
					      : new_line_width(&range);
	page->label_width = LABEL_EXTRA + digits_of((int64_t)page->label_count);
	page->offset_width = OFFSET_WIDTH;
	if (size >= WIDE_OFFSET + UNIT)
		page->offset_width = digits_of((int64_t)(size - UNIT));
}

int page_make(const struct python *python, const struct code *code,
	      enum program_mode mode, struct arena *arena, struct page *page)
{
	struct page out = { 0 };
	size_t jumps;
	int err;

	err = program_read(python, code, mode, arena, &out.program);
	if (err)
		return err;
	if (out.program.why)
		set_fault(&out, out.program.why,
			  code->bytecode.bytes + out.program.where);
	jumps = mark_jumps(python, &out);
	mark_handlers(code, &out);
	err = number_labels(python, code, jumps, arena, &out);
	if (err)
		return err;
	set_widths(python, code, &out);
	*page = out;
	return 0;
}
