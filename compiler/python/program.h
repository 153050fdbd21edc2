/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_PROGRAM_H
#define TACFS_COMPILER_PYTHON_PROGRAM_H

/* The bytecode of a code object as instructions that were checked. */

#include <stdbool.h>
#include <stddef.h>

#include "codec/arena.h"
#include "compiler/python/python.h"

enum { UNIT = 2 /* bytes: what instructions and caches are made of */ };

#define NO_INSTRUCTION UINT32_MAX
#define NO_TARGET      UINT32_MAX

struct instruction {
	uint32_t offset; /* in bytes */
	uint32_t argument;
	uint8_t opcode;
	bool is_sound;	/* the argument is one that this opcode can have */
	bool is_target; /* of a jump, or of an exception; page_make() says so */
};

struct program {
	struct instruction *instructions;
	size_t count;
	uint32_t *starting_at; /* for each unit: the instruction that starts
				  there, or NO_INSTRUCTION */
	size_t units;
	const char *why; /* that Python has not written this; else NULL */
	size_t where;	 /* the offset of what tells, in the bytecode */
	size_t unsound;	 /* instructions that it cannot have written */
};

enum program_mode {
	PROGRAM_STRICT, /* stop at what that Python cannot have written */
	PROGRAM_LENIENT /* go on, and count */
};

/*
 * Decodes bytecode. What a Python has written has only opcodes that it stores,
 * arguments in range, and jumps that meet an instruction. The program lives in
 * the arena; after a strict reading with a `why` it is of no use. Returns 0, or
 * as memory_take().
 */
int program_read(const struct python *python, const struct code *code,
		 enum program_mode mode, struct arena *arena,
		 struct program *program);

/*
 * What going through a code object and its tables costs, in bytes: what
 * budget_work() speaks of, since many objects may share one table.
 */
size_t program_work(const struct code *code);

/* Of an unknown number the name is NULL, and it has no argument. */
const struct opcode *program_opcode(const struct python *python,
				    const struct instruction *instruction);
/* Whether an instruction starts at that byte. */
bool program_has(const struct program *program, uint64_t offset);
/*
 * Where the instruction jumps to, in bytes; NO_TARGET when it is no jump, or
 * one that meets no instruction.
 */
uint32_t program_target(const struct python *python,
			const struct program *program,
			const struct instruction *instruction);

#endif
