/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/rules.h"

#include <errno.h>

#include "compiler/python/exceptions.h"
#include "compiler/python/lines.h"

/* Include/code.h */
enum {
	FLAG_VARARGS = 0x4,
	FLAG_VARKEYWORDS = 0x8,
	FLAG_GENERATOR = 0x20,
	FLAG_NOFREE = 0x40,
	FLAG_COROUTINE = 0x80,
	FLAG_ASYNC_GENERATOR = 0x200,
	FLAGS_SINCE_3_14 = 0xc000000
};

/* Include/internal/pycore_code.h */
enum {
	KIND_ARGUMENT = 0x0e, /* since 3.14 */
	KIND_HIDDEN = 0x10,   /* since 3.12 */
	KIND_PLACE = 0xe0     /* local, cell, free */
};

enum { COMPARE_MASK = 15, THROW_DISTANCE = 3 };

/* What the rules look at. */
struct subject {
	const struct python *python;
	const struct code *code;
	const struct program *program;
	uint64_t covered; /* by the line table */
};

static const struct opcode *opcode_at(const struct subject *s, size_t index)
{
	return program_opcode(s->python, &s->program->instructions[index]);
}

static bool unused_arguments_are_zero(const struct subject *s)
{
	for (size_t i = 0; i < s->program->count; i++) {
		size_t offset = s->program->instructions[i].offset;
		const struct opcode *op = opcode_at(s, i);

		if (op->form == FORM_NONE && op->role != ROLE_UNCLEARED &&
		    s->code->bytecode.bytes[offset + 1])
			return false;
	}
	return true;
}

static bool comparisons_have_masks(const struct subject *s)
{
	if (!s->python->compare_shift)
		return true;
	for (size_t i = 0; i < s->program->count; i++)
		if (opcode_at(s, i)->form == FORM_COMPARE &&
		    !(s->program->instructions[i].argument & COMPARE_MASK))
			return false;
	return true;
}

static uint64_t sum_of_sizes(const struct text *table)
{
	uint64_t sum = 0;

	for (size_t i = 0; i < table->size; i += 2)
		sum += table->bytes[i];
	return sum;
}

/* 3.10: an empty range is there only to take a long step of the line. */
static bool empty_ranges_are_steps(const struct text *table)
{
	bool step_before = false;

	for (size_t i = 0; i + 1 < table->size; i += 2) {
		int8_t line = (int8_t)table->bytes[i + 1];
		bool step = line == 127 || line == -127;

		if (!table->bytes[i] && !step && !step_before)
			return false;
		step_before = step;
	}
	return true;
}

static bool line_table_fits(const struct subject *s)
{
	const struct text *table = &s->code->lines;
	size_t size = s->code->bytecode.size;

	if (s->python->minor >= 11)
		return s->covered == size;
	if (table->size % 2)
		return false;
	if (s->python->minor < 10)
		return sum_of_sizes(table) <= size;
	return sum_of_sizes(table) == size && empty_ranges_are_steps(table);
}

static bool nofree_is_true(const struct subject *s)
{
	bool none = !s->code->cells.count && !s->code->frees.count;

	return s->python->minor >= 11 ||
	       none == ((s->code->flags & FLAG_NOFREE) != 0);
}

static bool resume_comes_first(const struct subject *s)
{
	if (s->python->minor < 11)
		return true;
	for (size_t i = 0; i < s->program->count; i++) {
		uint8_t role = opcode_at(s, i)->role;

		if (role == ROLE_RESUME)
			return true;
		if (role != ROLE_PROLOGUE && role != ROLE_EXTENDED_ARG)
			return false;
	}
	return false;
}

static bool handlers_fit(const struct subject *s)
{
	struct handlers handlers = handlers_of(s->code);
	struct handler h;

	while (handlers_next(&handlers, &h))
		if (h.end > s->code->bytecode.size ||
		    !program_has(s->program, h.start) ||
		    !program_has(s->program, h.target))
			return false;
	return true;
}

/* 3.11: PRECALL and CALL come together. */
static bool calls_are_pairs(const struct subject *s)
{
	bool after_precall = false;

	if (s->python->minor != 11)
		return true;
	for (size_t i = 0; i < s->program->count; i++) {
		uint8_t role = opcode_at(s, i)->role;

		if (role == ROLE_EXTENDED_ARG)
			continue;
		if (after_precall != (role == ROLE_CALL))
			return false;
		after_precall = role == ROLE_PRECALL;
	}
	return !after_precall;
}

/* 3.12 has this jump, by another name, where a generator is thrown into. */
static bool throws_are_old(const struct subject *s)
{
	const struct instruction *at = s->program->instructions;
	uint32_t suspends =
		FLAG_GENERATOR | FLAG_COROUTINE | FLAG_ASYNC_GENERATOR;

	if (s->python->minor != 11 || !(s->code->flags & suspends))
		return true;
	for (size_t i = 0; i + 1 < s->program->count; i++)
		if (opcode_at(s, i)->role == ROLE_BACKWARD_IF_NONE &&
		    at[i].argument == THROW_DISTANCE &&
		    opcode_at(s, i + 1)->role == ROLE_RERAISE)
			return false;
	return true;
}

static bool kinds_are_known(const struct subject *s)
{
	unsigned known = KIND_PLACE;

	if (s->python->minor >= 12)
		known |= KIND_HIDDEN;
	if (s->python->minor >= 14)
		known |= KIND_ARGUMENT;
	for (size_t i = 0; i < s->code->kinds.size; i++) {
		uint8_t kind = s->code->kinds.bytes[i];

		if (kind & ~known || !(kind & KIND_PLACE))
			return false;
	}
	return true;
}

/* 3.14: either no local is marked as an argument, or just all that are. */
static bool argument_kinds_fit(const struct subject *s)
{
	const struct code *code = s->code;
	int64_t arguments = (int64_t)code->arguments + code->keyword_only +
			    ((code->flags & FLAG_VARARGS) != 0) +
			    ((code->flags & FLAG_VARKEYWORDS) != 0);
	bool any = false;

	if (s->python->minor < 14)
		return true;
	for (size_t i = 0; i < code->kinds.size; i++)
		any = any || code->kinds.bytes[i] & KIND_ARGUMENT;
	for (size_t i = 0; any && i < code->kinds.size; i++)
		if (((code->kinds.bytes[i] & KIND_ARGUMENT) != 0) !=
		    ((int64_t)i < arguments))
			return false;
	return true;
}

static bool flags_are_known(const struct subject *s)
{
	return s->python->minor >= 14 || !(s->code->flags & FLAGS_SINCE_3_14);
}

/* Whether the tables are tables at all, and what that of lines covers. */
static int read_tables(struct subject *s)
{
	struct lines lines = lines_of(s->python, s->code);
	struct handlers handlers = handlers_of(s->code);
	struct line_start start;
	struct handler handler;

	while (lines_next(&lines, &start))
		;
	while (handlers_next(&handlers, &handler))
		;
	s->covered = lines.covered;
	return lines.table.err || handlers.why ? -EBADMSG : 0;
}

int rules_check(const struct python *python, const struct code *code,
		const struct program *program, unsigned *broken)
{
	static bool (*const rules[])(const struct subject *) = {
		unused_arguments_are_zero, comparisons_have_masks,
		line_table_fits,	   nofree_is_true,
		resume_comes_first,	   handlers_fit,
		calls_are_pairs,	   throws_are_old,
		kinds_are_known,	   argument_kinds_fit,
		flags_are_known,
	};
	struct subject s = { .python = python,
			     .code = code,
			     .program = program };
	int err = read_tables(&s);

	if (err)
		return err;
	for (size_t i = 0; i < sizeof(rules) / sizeof(rules[0]); i++)
		if (!rules[i](&s))
			++*broken;
	return 0;
}

bool rules_returns_const(const struct python *python,
			 const struct program *program)
{
	for (size_t i = 0; i + 1 < program->count; i++) {
		const struct instruction *at = &program->instructions[i];

		if (program_opcode(python, at)->role == ROLE_LOAD_CONST &&
		    program_opcode(python, at + 1)->role == ROLE_RETURN_VALUE)
			return true;
	}
	return false;
}
