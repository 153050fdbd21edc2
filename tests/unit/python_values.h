/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_PYTHON_VALUES_H
#define TACFS_TESTS_PYTHON_VALUES_H

/* Marshalled code objects, and their parts, made for tests. */

#include <stdbool.h>

#include "codec/writer.h"
#include "compiler/python/value.h"

/* The parts of a code object that tests vary; all others are empty. */
struct sample_code {
	const void *bytecode;
	size_t bytecode_size;
	const void *consts; /* marshal of a tuple; NULL for (None,) */
	size_t consts_size;
	const void *lines;
	size_t lines_size;
	const void *exceptions;
	size_t exceptions_size;
	const char *names[4];
	const char *locals[4];
	int first_line;
	unsigned flags;
};

/* As 3.8 to 3.10 write it, or as 3.11 and later do; names are ASCII. */
void sample_code_write(struct writer *out, const struct sample_code *code,
		       enum code_layout layout);

struct text sample_text(const char *letters);

#endif
