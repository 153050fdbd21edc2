/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_MARSHAL_H
#define TACFS_COMPILER_MARSHAL_H

/*
 * Python's marshal format, versions 3 to 5, as dumps() writes a code object
 * (Python/marshal.c). Types that no CPython from 3.8 on writes are refused.
 */

#include <stdbool.h>
#include <stddef.h>

#include "codec/arena.h"
#include "codec/reader.h"
#include "compiler/python/value.h"

enum { MARSHAL_DEPTH_MAX = 600 /* nested values */ };

/* A set; they are listed because their order depends on the Python. */
struct marshal_set {
	struct value *set;
	struct marshal_set *next;
};

struct marshal {
	struct code *code;  /* the outermost */
	struct code *codes; /* all of them, linked by `next`, it first */
	struct marshal_set *sets;
	bool has_slice;
};

/*
 * Reads one code object that fills the input. Everything in *marshal points
 * into the input or the arena. Returns 0; -EBADMSG when the input is not that;
 * -E2BIG when it is nested too deeply or wants more than the arena's limit;
 * -ENOMEM. in->err, in->why and in->where tell the same and more.
 */
int marshal_read(struct reader *in, enum code_layout layout,
		 struct arena *arena, struct marshal *marshal);

/*
 * The same, but *marshal gets what could be read when there is a failure, which
 * in->err tells: no `code` then, and the `codes` may lack fields.
 */
void marshal_salvage(struct reader *in, enum code_layout layout,
		     struct arena *arena, struct marshal *marshal);

#endif
