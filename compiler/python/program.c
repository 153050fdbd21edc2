/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/program.h"

#include <errno.h>

#include "compiler/memory.h"

enum { EXTENDED_ARGS_MAX = 3 };

struct decoder {
	const struct python *python;
	const struct code *code;
	struct program *program;
	uint32_t extension;
	unsigned extended;
	const char *why;
};

const struct opcode *program_opcode(const struct python *python,
				    const struct instruction *instruction)
{
	return &python->opcodes[instruction->opcode];
}

bool program_has(const struct program *program, uint64_t offset)
{
	return offset % UNIT == 0 && offset / UNIT < program->units &&
	       program->starting_at[offset / UNIT] != NO_INSTRUCTION;
}

static uint32_t read_argument(struct decoder *d, const struct opcode *op,
			      uint8_t byte)
{
	uint32_t argument = byte | d->extension;

	if (op->form == FORM_NONE) {
		if (d->python->minor >= 10)
			d->extension = 0;
		return 0;
	}
	if (op->role == ROLE_EXTENDED_ARG) {
		if (++d->extended > EXTENDED_ARGS_MAX)
			d->why = "too many EXTENDED_ARG in a row";
		d->extension = argument << 8;
		return argument;
	}
	d->extension = 0;
	d->extended = 0;
	if (argument > INT32_MAX)
		d->why = "an argument is too large";
	return argument;
}

static void check_caches(struct decoder *d, size_t offset, size_t caches)
{
	const struct text *code = &d->code->bytecode;

	if (caches * UNIT > code->size - offset - UNIT) {
		d->why = "the bytecode ends within a cache";
		return;
	}
	for (size_t i = 0; i < caches * UNIT; i++)
		if (code->bytes[offset + UNIT + i])
			d->why = "a cache is not empty";
}

/* Decodes the instruction at an offset; returns the units that it takes. */
static size_t decode_one(struct decoder *d, size_t offset)
{
	struct program *program = d->program;
	const uint8_t *bytes = d->code->bytecode.bytes + offset;
	const struct opcode *op = &d->python->opcodes[bytes[0]];
	struct instruction *instruction =
		&program->instructions[program->count];

	if (!op->name) {
		d->why = "an unknown opcode";
		return 1;
	}
	program->starting_at[offset / UNIT] = (uint32_t)program->count++;
	instruction->offset = (uint32_t)offset;
	instruction->opcode = bytes[0];
	instruction->target = NO_TARGET;
	instruction->argument = read_argument(d, op, bytes[1]);
	check_caches(d, offset, op->caches);
	return (size_t)op->caches + 1;
}

static void decode_all(struct decoder *d)
{
	size_t unit = 0;

	for (size_t i = 0; i < d->program->units; i++)
		d->program->starting_at[i] = NO_INSTRUCTION;
	while (unit < d->program->units && !d->why)
		unit += decode_one(d, unit * UNIT);
	if (!d->program->count)
		d->why = "there is no bytecode";
}

static int64_t jump_target(const struct python *python,
			   const struct instruction *instruction)
{
	const struct opcode *op = program_opcode(python, instruction);
	int64_t scale = python->minor >= 10 ? UNIT : 1;
	int64_t distance = scale * instruction->argument;
	int64_t next = (int64_t)instruction->offset + UNIT;

	if (python->minor >= 12)
		next += (int64_t)op->caches * UNIT;
	if (op->form == FORM_JABS)
		return distance;
	return op->form == FORM_JREL ? next + distance : next - distance;
}

static void check_jump(struct decoder *d, struct instruction *instruction)
{
	int64_t target = jump_target(d->python, instruction);

	if (target < 0 || !program_has(d->program, (uint64_t)target))
		d->why = "a jump leads nowhere";
	else
		instruction->target = (uint32_t)target;
}

/* How many values the argument may have, from 0 on. */
static uint64_t argument_values(const struct python *python,
				const struct code *code, enum form form)
{
	switch (form) {
	case FORM_CONST:
		return code->consts.count;
	case FORM_NAME:
		return code->names.count;
	case FORM_NAME_GLOBAL:
	case FORM_NAME_ATTR:
		return (uint64_t)code->names.count * 2;
	case FORM_NAME_SUPER:
		return (uint64_t)code->names.count * 4;
	case FORM_LOCAL:
		return code->locals.count;
	case FORM_FREE:
		return code->cells.count + code->frees.count +
		       (python->layout == LAYOUT_NEW ? code->locals.count : 0);
	case FORM_COMPARE:
		return (uint64_t)python->compare.count << python->compare_shift;
	case FORM_MAKEFN:
	case FORM_SETFN:
		return UINT64_C(1) << python->function.count;
	case FORM_BINOP:
		return python->binop.count;
	case FORM_INTR1:
		return python->intrinsic1.count;
	case FORM_INTR2:
		return python->intrinsic2.count;
	case FORM_COMMON:
		return python->common.count;
	case FORM_SPECIAL:
		return python->special.count;
	case FORM_CONVERT:
		return python->convert.count;
	case FORM_IS:
	case FORM_IN:
		return 2;
	case FORM_LOCAL2:
		return 256;
	case FORM_NONE:
	case FORM_RAW:
	case FORM_JREL:
	case FORM_JBACK:
	case FORM_JABS:
	case FORM_JFROM:
	case FORM_FORMAT:
		return UINT64_MAX;
	}
	return 0;
}

static bool is_one_bit(uint32_t argument)
{
	return argument && !(argument & (argument - 1));
}

static void check_argument(struct decoder *d, struct instruction *instruction)
{
	const struct opcode *op = program_opcode(d->python, instruction);
	uint32_t argument = instruction->argument;
	enum form form = op->form;
	size_t locals = d->code->locals.count;

	if (argument < op->least || argument > op->most ||
	    argument >= argument_values(d->python, d->code, form))
		d->why = "an argument is out of range";
	if (form == FORM_LOCAL2 &&
	    (argument / 16 >= locals || argument % 16 >= locals))
		d->why = "an argument is out of range";
	if (form == FORM_SETFN && !is_one_bit(argument))
		d->why = "an argument is out of range";
	if (form == FORM_JREL || form == FORM_JBACK || form == FORM_JABS ||
	    form == FORM_JFROM)
		check_jump(d, instruction);
}

int program_read(const struct python *python, const struct code *code,
		 struct arena *arena, struct program *program, const char **why)
{
	struct program out = { .units = code->bytecode.size / UNIT };
	struct decoder d = { .python = python, .code = code, .program = &out };
	int err = 0;

	out.instructions =
		memory_take(arena, out.units, sizeof(*out.instructions), &err);
	out.starting_at =
		memory_take(arena, out.units, sizeof(*out.starting_at), &err);
	if (err)
		return err;
	decode_all(&d);
	for (size_t i = 0; i < out.count && !d.why; i++)
		check_argument(&d, &out.instructions[i]);
	if (d.why) {
		*why = d.why;
		return -EBADMSG;
	}
	*program = out;
	return 0;
}
