/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_LINES_H
#define TACFS_COMPILER_PYTHON_LINES_H

/*
 * Where the lines of a code object start, as dis.findlinestarts() says, from
 * its line table (Objects/lnotab_notes.txt, Objects/locations.md).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/arena.h"
#include "compiler/python/python.h"

struct line_start {
	uint64_t offset; /* in bytes; it may lie within an instruction */
	int64_t line;
	bool has_line; /* false from 3.13 on, where code belongs to no line */
};

struct lines {
	struct line_start *at; /* by offset, no offset twice */
	size_t count;
	uint64_t covered; /* bytes of code that the table speaks of */
};

/*
 * Returns 0; -EBADMSG when the table is no table (never before 3.11); or as
 * memory_take().
 */
int lines_read(const struct python *python, const struct code *code,
	       struct arena *arena, struct lines *lines);

#endif
