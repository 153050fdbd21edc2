/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/dis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/python/argument.h"
#include "compiler/python/page.h"
#include "compiler/python/repr.h"
#include "compiler/python/set_order.h"

enum { NAME_WIDTH = 20, ARGUMENT_WIDTH = 5 };

struct printer {
	struct writer *out;
	const struct python *python;
	struct arena *arena;
	bool user_classes;
	const char *why;
};

static void put_blank(struct writer *out, unsigned width)
{
	writer_fill(out, ' ', width);
}

/* Right-aligned; a longer number is written whole. */
static void put_number(struct writer *out, uint64_t number, unsigned width)
{
	char digits[20];
	size_t at = sizeof(digits);

	do
		digits[--at] = (char)('0' + number % 10);
	while (number /= 10);
	if (width > sizeof(digits) - at)
		put_blank(out, width - (unsigned)(sizeof(digits) - at));
	writer_put(out, digits + at, sizeof(digits) - at);
}

static void put_line(struct writer *out, const struct page *page, size_t index)
{
	unsigned width = page->line_width;

	if (page->marks[index] == MARK_LINE && page->line_numbers[index] >= 0)
		put_number(out, (uint64_t)page->line_numbers[index], width);
	else if (page->marks[index] == MARK_LINE)
		writer_printf(out, "%*" PRId64, (int)width,
			      page->line_numbers[index]);
	else if (page->marks[index] == MARK_NO_LINE)
		writer_printf(out, "%*s", (int)width, "--");
	else
		put_blank(out, width);
}

/* `L1:`, right-aligned, where there is a label. */
static void put_label(struct writer *out, const struct page *page,
		      uint32_t offset)
{
	size_t label = page_label(page, offset);
	char text[32] = "";

	if (label)
		snprintf(text, sizeof(text), "L%zu:", label);
	writer_printf(out, "%*s", (int)page->label_width, text);
}

/* What stands left of the opcode's name. */
static void put_margin(struct printer *p, const struct page *page, size_t index)
{
	const struct instruction *instruction =
		&page->program.instructions[index];
	struct writer *out = p->out;

	if (page->line_width) {
		if (page->marks[index] != MARK_NOTHING && instruction->offset)
			writer_u8(out, '\n');
		put_line(out, page, index);
		writer_u8(out, ' ');
	}
	if (p->python->minor >= 13) {
		put_label(out, page, instruction->offset);
		put_blank(out, 5);
		return;
	}
	put_blank(out, 4);
	writer_string(out, page->is_target[index] ? ">> " : "   ");
	put_number(out, instruction->offset, page->offset_width);
	writer_u8(out, ' ');
}

static unsigned argument_width(const struct printer *p, size_t name_size)
{
	size_t excess = name_size > NAME_WIDTH ? name_size - NAME_WIDTH : 0;

	if (p->python->minor < 13)
		return ARGUMENT_WIDTH;
	return excess < ARGUMENT_WIDTH ? ARGUMENT_WIDTH - (unsigned)excess : 0;
}

/* The text in parentheses, if there is one. */
static void put_text(struct printer *p, const struct code *code,
		     const struct page *page,
		     const struct instruction *instruction)
{
	struct writer *out = p->out;
	size_t before = out->size, start;

	writer_string(out, " (");
	start = out->size;
	argument_put(out, p->python, code, page, instruction, p->user_classes);
	if (out->size == start && !out->err)
		out->size = before;
	else
		writer_u8(out, ')');
}

static void put_instruction(struct printer *p, const struct code *code,
			    const struct page *page, size_t index)
{
	const struct instruction *instruction =
		&page->program.instructions[index];
	const struct opcode *op = program_opcode(p->python, instruction);
	size_t size = strlen(op->name);

	put_margin(p, page, index);
	writer_put(p->out, op->name, size);
	if (op->form != FORM_NONE) {
		if (size < NAME_WIDTH)
			put_blank(p->out, NAME_WIDTH - (unsigned)size);
		writer_u8(p->out, ' ');
		put_number(p->out, instruction->argument,
			   argument_width(p, size));
		put_text(p, code, page, instruction);
	}
	writer_u8(p->out, '\n');
}

static void put_handler(struct printer *p, const struct page *page,
			const struct handler *h)
{
	const char *lasti = h->lasti ? " lasti" : "";

	if (p->python->minor < 13)
		writer_printf(p->out,
			      "  %" PRIu64 " to %" PRId64 " -> %" PRIu64
			      " [%" PRIu64 "]%s\n",
			      h->start, (int64_t)h->end - UNIT, h->target,
			      h->depth, lasti);
	else
		writer_printf(
			p->out, "  L%zu to L%zu -> L%zu [%" PRIu64 "]%s\n",
			page_label(page, h->start), page_label(page, h->end),
			page_label(page, h->target), h->depth, lasti);
}

static void put_page(struct printer *p, const struct code *code,
		     const struct page *page)
{
	for (size_t i = 0; i < page->program.count && !p->out->err; i++)
		put_instruction(p, code, page, i);
	if (page->handlers.count)
		writer_string(p->out, "ExceptionTable:\n");
	for (size_t i = 0; i < page->handlers.count && !p->out->err; i++)
		put_handler(p, page, &page->handlers.at[i]);
}

/* The object itself, and then those among its constants. */
static int put_code(struct printer *p, struct code *code)
{
	const struct page *page;
	int err = page_of(p->python, code, p->arena, &page, &p->why);

	if (err)
		return err;
	put_page(p, code, page);
	p->user_classes = false;
	for (size_t i = 0; i < page->nested_count && !err; i++) {
		writer_string(p->out, "\nDisassembly of ");
		repr_code(p->out, page->nested[i]);
		writer_string(p->out, ":\n");
		err = put_code(p, page->nested[i]);
	}
	return err ? err : p->out->err;
}

static int order_sets(const struct python *python,
		      const struct marshal *marshal, size_t limit)
{
	struct arena scratch = arena_upto(limit);
	int err = 0;

	for (struct marshal_set *at = marshal->sets; at && !err; at = at->next)
		err = set_order(at->set, python->minor, &scratch);
	arena_free(&scratch);
	return err;
}

int dis_write(struct writer *out, const struct python *python,
	      struct marshal *marshal, struct arena *arena,
	      const struct dis_options *options, const char **why)
{
	struct printer p = { .out = out,
			     .python = python,
			     .arena = arena,
			     .user_classes = options->user_classes };
	int err = order_sets(python, marshal, arena->limit);

	if (!err)
		err = put_code(&p, marshal->code);
	if (err == -EBADMSG)
		*why = p.why;
	return err;
}
