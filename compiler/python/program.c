/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/program.h"

#include "compiler/memory.h"

enum {
	EXTENDED_ARGS_MAX = 3,
	OBJECT_WORK = 64 /* of a code object that has nothing in it */
};

struct decoder {
	const struct python *python;
	const struct code *code;
	struct program *program;
	size_t offset; /* of the instruction at hand */
	uint32_t extension;
	unsigned extended;
};

static void fail(struct decoder *d, const char *why)
{
	if (d->program->why)
		return;
	d->program->why = why;
	d->program->where = d->offset;
}

const struct opcode *program_opcode(const struct python *python,
				    const struct instruction *instruction)
{
	return &python->opcodes[instruction->opcode];
}

size_t program_work(const struct code *code)
{
	return code->bytecode.size + code->lines.size + code->exceptions.size +
	       code->consts.count + OBJECT_WORK;
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
			fail(d, "too many EXTENDED_ARG in a row");
		d->extension = argument << 8;
		return argument;
	}
	d->extension = 0;
	d->extended = 0;
	if (argument > INT32_MAX)
		fail(d, "an argument is too large");
	return argument;
}

/* How many units of the caches are there; each has to be empty. */
static size_t check_caches(struct decoder *d, size_t caches)
{
	const struct text *code = &d->code->bytecode;
	size_t left = (code->size - d->offset) / UNIT - 1;
	size_t units = caches < left ? caches : left;

	if (units < caches)
		fail(d, "the bytecode ends within a cache");
	for (size_t i = 0; i < units * UNIT; i++)
		if (code->bytes[d->offset + UNIT + i])
			fail(d, "a cache is not empty");
	return units;
}

/* Decodes the next instruction; returns the units that it takes. */
static size_t decode_one(struct decoder *d)
{
	struct program *program = d->program;
	const uint8_t *bytes = d->code->bytecode.bytes + d->offset;
	const struct opcode *op = &d->python->opcodes[bytes[0]];
	struct instruction *instruction =
		&program->instructions[program->count];

	if (!op->name)
		fail(d, "an unknown opcode");
	program->starting_at[d->offset / UNIT] = (uint32_t)program->count++;
	instruction->offset = (uint32_t)d->offset;
	instruction->opcode = bytes[0];
	instruction->argument = read_argument(d, op, bytes[1]);
	return check_caches(d, op->caches) + 1;
}

static void decode_all(struct decoder *d, enum program_mode mode)
{
	const struct program *program = d->program;
	size_t unit = 0;

	for (size_t i = 0; i < program->units; i++)
		program->starting_at[i] = NO_INSTRUCTION;
	while (unit < program->units &&
	       (mode == PROGRAM_LENIENT || !program->why)) {
		d->offset = unit * UNIT;
		unit += decode_one(d);
	}
	if (!program->count)
		fail(d, "there is no bytecode");
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

static bool is_jump(enum form form)
{
	return form == FORM_JREL || form == FORM_JBACK || form == FORM_JABS ||
	       form == FORM_JFROM;
}

uint32_t program_target(const struct python *python,
			const struct program *program,
			const struct instruction *instruction)
{
	int64_t target;

	if (!is_jump(program_opcode(python, instruction)->form))
		return NO_TARGET;
	target = jump_target(python, instruction);
	if (target < 0 || !program_has(program, (uint64_t)target))
		return NO_TARGET;
	return (uint32_t)target;
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

static bool is_in_range(const struct decoder *d,
			const struct instruction *instruction)
{
	const struct opcode *op = program_opcode(d->python, instruction);
	uint32_t argument = instruction->argument;
	enum form form = op->form;
	size_t locals = d->code->locals.count;

	if (argument < op->least || argument > op->most ||
	    argument >= argument_values(d->python, d->code, form))
		return false;
	if (form == FORM_LOCAL2)
		return argument / 16 < locals && argument % 16 < locals;
	return form != FORM_SETFN || is_one_bit(argument);
}

static void check_instruction(struct decoder *d,
			      struct instruction *instruction)
{
	const struct opcode *op = program_opcode(d->python, instruction);
	bool jumps = is_jump(op->form);

	d->offset = instruction->offset;
	instruction->is_sound = op->name && is_in_range(d, instruction);
	if (!instruction->is_sound)
		fail(d, "an argument is out of range");
	if (jumps &&
	    program_target(d->python, d->program, instruction) == NO_TARGET) {
		instruction->is_sound = false;
		fail(d, "a jump leads nowhere");
	}
	d->program->unsound += !instruction->is_sound;
}

int program_read(const struct python *python, const struct code *code,
		 enum program_mode mode, struct arena *arena,
		 struct program *program)
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
	decode_all(&d, mode);
	for (size_t i = 0; i < out.count; i++)
		if (mode == PROGRAM_LENIENT || !out.why)
			check_instruction(&d, &out.instructions[i]);
	*program = out;
	return 0;
}
