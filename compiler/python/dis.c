/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/dis.h"

#include <errno.h>
#include <inttypes.h>
#include <stdio.h>
#include <string.h>

#include "compiler/memory.h"
#include "compiler/python/argument.h"
#include "compiler/python/page.h"
#include "compiler/python/repr.h"
#include "compiler/python/set_order.h"

enum { NAME_WIDTH = 20, ARGUMENT_WIDTH = 5 };

struct printer {
	struct writer *out;
	const struct python *python;
	const struct dis_options *options;
	struct arena page; /* for one code object at a time */
	size_t work;	   /* what is left of it */
	bool user_classes;
	struct fault *fault;
};

/* A code object on its way to paper. */
struct sheet {
	const struct code *code;
	struct page page;
	struct lines lines;
	struct line_start start; /* the next one */
	bool more;		 /* `start` is one */
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

/* Whether an instruction starts a line. Starts within one do not count. */
static bool starts_line(struct sheet *s, const struct instruction *instruction)
{
	while (s->more && s->start.offset < instruction->offset)
		s->more = lines_next(&s->lines, &s->start);
	return s->more && s->start.offset == instruction->offset;
}

static void put_line(struct writer *out, const struct sheet *s, bool starts)
{
	unsigned width = s->page.line_width;

	if (!starts)
		put_blank(out, width);
	else if (!s->start.has_line)
		writer_printf(out, "%*s", (int)width, "--");
	else if (s->start.line >= 0)
		put_number(out, (uint64_t)s->start.line, width);
	else
		writer_printf(out, "%*" PRId64, (int)width, s->start.line);
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
static void put_margin(struct printer *p, struct sheet *s,
		       const struct instruction *instruction)
{
	struct writer *out = p->out;

	if (s->page.line_width) {
		bool starts = starts_line(s, instruction);

		if (starts && instruction->offset)
			writer_u8(out, '\n');
		put_line(out, s, starts);
		writer_u8(out, ' ');
	}
	if (p->python->minor >= 13) {
		put_label(out, &s->page, instruction->offset);
		put_blank(out, 5);
		return;
	}
	put_blank(out, 4);
	writer_string(out, instruction->is_target ? ">> " : "   ");
	put_number(out, instruction->offset, s->page.offset_width);
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

static void put_instruction(struct printer *p, struct sheet *s,
			    const struct instruction *instruction)
{
	const struct opcode *op = program_opcode(p->python, instruction);
	char unknown[8];
	const char *name = op->name ? op->name : unknown;
	size_t size;

	snprintf(unknown, sizeof(unknown), "<%u>", instruction->opcode);
	size = strlen(name);
	put_margin(p, s, instruction);
	writer_put(p->out, name, size);
	if (op->form != FORM_NONE) {
		if (size < NAME_WIDTH)
			put_blank(p->out, NAME_WIDTH - (unsigned)size);
		writer_u8(p->out, ' ');
		put_number(p->out, instruction->argument,
			   argument_width(p, size));
		put_text(p, s->code, &s->page, instruction);
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

static void put_handlers(struct printer *p, const struct sheet *s)
{
	struct handlers handlers = handlers_of(s->code);
	struct handler handler;

	if (s->page.handler_count)
		writer_string(p->out, "ExceptionTable:\n");
	while (!p->out->err && handlers_next(&handlers, &handler))
		put_handler(p, &s->page, &handler);
}

static void put_sheet(struct printer *p, struct sheet *s)
{
	const struct program *program = &s->page.program;

	s->lines = lines_of(p->python, s->code);
	s->more = lines_next(&s->lines, &s->start);
	for (size_t i = 0; i < program->count && !p->out->err; i++)
		put_instruction(p, s, &program->instructions[i]);
	put_handlers(p, s);
}

static int fail(struct printer *p, int err, const char *why,
		const uint8_t *where)
{
	*p->fault = (struct fault){ .why = why };
	p->fault->where = (size_t)(where - p->options->start);
	return err;
}

static void put_note(struct printer *p, const struct page *page)
{
	if (page->why)
		writer_printf(p->out, "[Unsound at byte %zu: %s.]\n",
			      (size_t)(page->where - p->options->start),
			      page->why);
}

/* The object itself. */
static int put_code(struct printer *p, const struct code *code)
{
	struct sheet s = { .code = code };
	bool strict = p->options->mode == PROGRAM_STRICT;
	int err =
		page_make(p->python, code, p->options->mode, &p->page, &s.page);

	if (err) {
		err = fail(p, err, memory_why(err), code->start);
	} else if (s.page.why && strict) {
		err = fail(p, -ENOTSUP, s.page.why, s.page.where);
	} else {
		put_note(p, &s.page);
		put_sheet(p, &s);
	}
	arena_reuse(&p->page);
	if (!err && p->out->err)
		err = fail(p, p->out->err, "its text is longer than allowed",
			   code->start);
	return err;
}

/* Going through an object takes time that its text need not show. */
static int spend_work(struct printer *p, const struct code *code)
{
	size_t work = program_work(code);

	if (work > p->work)
		return fail(p, -E2BIG, "code objects are shown too often",
			    code->start);
	p->work -= work;
	return 0;
}

/* The object itself, and then those among its constants. */
static int put_codes(struct printer *p, const struct code *code)
{
	int err = spend_work(p, code);

	if (!err)
		err = put_code(p, code);
	p->user_classes = false;
	for (size_t i = 0; i < code->consts.count && !err; i++) {
		if (code->consts.at[i]->type != VALUE_CODE)
			continue;
		writer_string(p->out, "\nDisassembly of ");
		repr_code(p->out, code->consts.at[i]->code);
		writer_string(p->out, ":\n");
		err = put_codes(p, code->consts.at[i]->code);
	}
	return err;
}

static void put_heading(struct printer *p, const struct code *code)
{
	writer_string(p->out, "\nDisassembly of ");
	if (code->is_whole)
		repr_code(p->out, code);
	else
		writer_printf(p->out,
			      "the code object at byte %zu, of which a "
			      "part is missing",
			      (size_t)(code->start - p->options->start));
	writer_string(p->out, ":\n");
}

/* Each object that was begun, in the order of the input. */
static int put_salvage(struct printer *p, const struct code *codes)
{
	int err = 0;

	for (const struct code *at = codes; at && !err; at = at->next) {
		if (!at->bytecode.size)
			continue;
		err = spend_work(p, at);
		if (err)
			break;
		put_heading(p, at);
		err = put_code(p, at);
		p->user_classes = false;
	}
	return err;
}

static int order_sets(const struct python *python,
		      const struct marshal *marshal, size_t limit,
		      struct fault *fault)
{
	struct arena scratch = arena_upto(limit);
	int err = 0;

	for (struct marshal_set *at = marshal->sets; at && !err; at = at->next)
		err = set_order(at->set, python->minor, &scratch);
	arena_free(&scratch);
	if (err)
		*fault = (struct fault){ .why = memory_why(err) };
	return err;
}

int dis_write(struct writer *out, const struct python *python,
	      struct marshal *marshal, struct arena *arena,
	      const struct dis_options *options, struct fault *fault)
{
	struct printer p = { .out = out,
			     .python = python,
			     .options = options,
			     .page = arena_upto(arena->limit - arena->used),
			     .work = options->work,
			     .user_classes = options->user_classes,
			     .fault = fault };
	int err = order_sets(python, marshal, p.page.limit, fault);

	if (err)
		return err;
	err = marshal->code ? put_codes(&p, marshal->code)
			    : put_salvage(&p, marshal->codes);
	arena_free(&p.page);
	return err;
}
