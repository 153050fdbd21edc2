/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_LINES_H
#define TACFS_COMPILER_PYTHON_LINES_H

/*
 * Where the lines of a code object start, as dis.findlinestarts() says, read
 * step by step from its line table (Objects/lnotab_notes.txt,
 * Objects/locations.md).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/reader.h"
#include "compiler/python/python.h"

struct line_start {
	uint64_t offset; /* in bytes; it may lie within an instruction */
	int64_t line;
	bool has_line; /* false from 3.13 on, where code belongs to no line */
};

struct lines {
	const struct python *python;
	struct reader table; /* err is -EBADMSG when it is none; never before
				3.11 */
	uint64_t code_size;
	uint64_t covered; /* bytes of code that were spoken of so far */
	int64_t line;
	struct line_start last;
	bool any; /* `last` is one */
	bool ended;
};

struct lines lines_of(const struct python *python, const struct code *code);

/* The next start, with ever larger offsets; false when there are no more. */
bool lines_next(struct lines *lines, struct line_start *start);

#endif
