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
	uint32_t target; /* of a jump, in bytes; or NO_TARGET */
	uint8_t opcode;
};

struct program {
	struct instruction *instructions;
	size_t count;
	uint32_t *starting_at; /* for each unit: the instruction that starts
				  there, or NO_INSTRUCTION */
	size_t units;
};

/*
 * Decodes the bytecode as that Python would have written it: every opcode is
 * one it stores, every argument is in range, every jump meets an instruction.
 * The program lives in the arena.
 *
 * Returns 0; -EBADMSG, with *why a static string, when that Python has not
 * written this; or as memory_take().
 */
int program_read(const struct python *python, const struct code *code,
		 struct arena *arena, struct program *program,
		 const char **why);

const struct opcode *program_opcode(const struct python *python,
				    const struct instruction *instruction);
/* Whether an instruction starts at that byte. */
bool program_has(const struct program *program, uint64_t offset);

#endif
