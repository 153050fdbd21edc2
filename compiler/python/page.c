/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/page.h"

#include <stdlib.h>

#include "compiler/memory.h"
#include "compiler/python/lines.h"

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

/* Which instructions start a line. Starts within an instruction mark none. */
static void mark_lines(struct page *page, const struct lines *lines)
{
	for (size_t i = 0; i < lines->count; i++) {
		const struct line_start *start = &lines->at[i];
		uint32_t index;

		if (!program_has(&page->program, start->offset))
			continue;
		index = page->program.starting_at[start->offset / UNIT];
		page->marks[index] = start->has_line ? MARK_LINE : MARK_NO_LINE;
		page->line_numbers[index] = start->line;
	}
}

/* Before 3.13: any line counts, and there may be no "no line". */
static unsigned old_line_width(const struct lines *lines)
{
	int64_t most = 0;

	for (size_t i = 0; i < lines->count; i++)
		if (lines->at[i].line > most)
			most = lines->at[i].line;
	if (!lines->count)
		return 0;
	return most >= WIDE_LINE ? digits_of(most) : WIDTH_LEAST;
}

static unsigned new_line_width(const struct lines *lines)
{
	bool any = false, none = false;
	int64_t most = INT64_MIN;
	unsigned width;

	for (size_t i = 0; i < lines->count; i++) {
		const struct line_start *start = &lines->at[i];

		if (!start->has_line)
			none = true;
		if (!start->has_line || !start->line)
			continue;
		any = true;
		if (start->line > most)
			most = start->line;
	}
	if (!any)
		return 0;
	width = digits_of(most);
	if (width > WIDTH_LEAST)
		return width;
	return none ? WIDTH_NO_LINE : WIDTH_LEAST;
}

static void mark_target(struct page *page, uint64_t offset)
{
	if (program_has(&page->program, offset))
		page->is_target[page->program.starting_at[offset / UNIT]] =
			true;
}

static void mark_targets(struct page *page)
{
	for (size_t i = 0; i < page->program.count; i++)
		if (page->program.instructions[i].target != NO_TARGET)
			mark_target(page, page->program.instructions[i].target);
	for (size_t i = 0; i < page->handlers.count; i++)
		if (page->handlers.at[i].end > page->handlers.at[i].start)
			mark_target(page, page->handlers.at[i].target);
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

static int number_labels(struct page *page, struct arena *arena)
{
	size_t jumps = 0;
	int err = 0;

	for (size_t i = 0; i < page->program.count; i++)
		jumps += page->program.instructions[i].target != NO_TARGET;
	page->labels = memory_take(arena, jumps + 3 * page->handlers.count,
				   sizeof(*page->labels), &err);
	if (!page->labels)
		return err;
	for (size_t i = 0; i < page->program.count; i++)
		if (page->program.instructions[i].target != NO_TARGET)
			add_label(page, page->program.instructions[i].target);
	for (size_t i = 0; i < page->handlers.count; i++) {
		add_label(page, page->handlers.at[i].start);
		add_label(page, page->handlers.at[i].end);
		add_label(page, page->handlers.at[i].target);
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

static int allocate_marks(struct page *page, struct arena *arena)
{
	size_t count = page->program.count;
	int err = 0;

	page->marks = memory_take(arena, count, sizeof(*page->marks), &err);
	page->line_numbers =
		memory_take(arena, count, sizeof(*page->line_numbers), &err);
	page->is_target =
		memory_take(arena, count, sizeof(*page->is_target), &err);
	return err;
}

/* Found once: the object may be shown as often as it is referred to. */
static int find_nested(struct page *page, const struct code *code,
		       struct arena *arena)
{
	size_t count = 0;
	int err = 0;

	for (size_t i = 0; i < code->consts.count; i++)
		count += code->consts.at[i]->type == VALUE_CODE;
	page->nested = memory_take(arena, count, sizeof(void *), &err);
	if (!page->nested)
		return err;
	for (size_t i = 0; i < code->consts.count; i++)
		if (code->consts.at[i]->type == VALUE_CODE)
			page->nested[page->nested_count++] =
				code->consts.at[i]->code;
	return 0;
}

static void set_widths(const struct python *python, const struct lines *lines,
		       size_t code_size, struct page *page)
{
	page->line_width = python->minor < 13 ? old_line_width(lines)
					      : new_line_width(lines);
	page->label_width = LABEL_EXTRA + digits_of((int64_t)page->label_count);
	page->offset_width = OFFSET_WIDTH;
	if (code_size - UNIT >= WIDE_OFFSET)
		page->offset_width = digits_of((int64_t)(code_size - UNIT));
}

static int make_page(const struct python *python, const struct code *code,
		     struct arena *arena, struct page *page, const char **why)
{
	struct lines lines;
	int err;

	err = program_read(python, code, arena, &page->program, why);
	if (err)
		return err;
	err = handlers_read(code, arena, &page->handlers);
	if (err)
		return err;
	err = lines_read(python, code, arena, &lines);
	if (err)
		return err;
	err = allocate_marks(page, arena);
	if (err)
		return err;
	err = number_labels(page, arena);
	if (err)
		return err;
	err = find_nested(page, code, arena);
	if (err)
		return err;
	mark_lines(page, &lines);
	mark_targets(page);
	set_widths(python, &lines, code->bytecode.size, page);
	return 0;
}

int page_of(const struct python *python, struct code *code, struct arena *arena,
	    const struct page **page, const char **why)
{
	struct page *made;
	int err = 0;

	if (!code->page) {
		made = memory_take(arena, 1, sizeof(*made), &err);
		if (!made)
			return err;
		*why = "a table of lines or exceptions is damaged";
		err = make_page(python, code, arena, made, why);
		if (err)
			return err;
		code->page = made;
	}
	*page = code->page;
	return 0;
}
