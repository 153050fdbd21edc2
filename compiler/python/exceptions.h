/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_EXCEPTIONS_H
#define TACFS_COMPILER_PYTHON_EXCEPTIONS_H

/*
 * The exception table of 3.11 and later, read step by step
 * (Objects/exception_handling_notes.txt).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/reader.h"
#include "compiler/python/value.h"

/* Code from `start` up to `end` has its handler at `target`: all in bytes. */
struct handler {
	uint64_t start;
	uint64_t end;
	uint64_t target;
	uint64_t depth; /* of the stack there */
	bool lasti;	/* the instruction that raised is pushed too */
};

struct handlers {
	struct reader table;
	const char *why; /* it is no table: a number is out of all proportion */
};

struct handlers handlers_of(const struct code *code);

/*
 * False when there are no more. An entry that is cut off at the end is dropped,
 * as CPython does.
 */
bool handlers_next(struct handlers *handlers, struct handler *handler);

#endif
