/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_EXCEPTIONS_H
#define TACFS_COMPILER_PYTHON_EXCEPTIONS_H

/* The exception table of 3.11 and later (Objects/exception_handling_notes.txt).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/arena.h"
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
	struct handler *at;
	size_t count;
};

/*
 * An entry that is cut off at the end is dropped, as CPython does. Returns 0;
 * -EBADMSG when a number is out of all proportion; or as memory_take().
 */
int handlers_read(const struct code *code, struct arena *arena,
		  struct handlers *handlers);

#endif
