/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_DIS_H
#define TACFS_COMPILER_PYTHON_DIS_H

/* The text of dis.dis() (Lib/dis.py), for a code object and those inside it. */

#include "codec/arena.h"
#include "codec/writer.h"
#include "compiler/fault.h"
#include "compiler/marshal.h"
#include "compiler/python/program.h"
#include "compiler/python/python.h"

struct dis_options {
	enum program_mode mode;
	bool user_classes;    /* as argument_put()'s, in the outermost object */
	const uint8_t *start; /* of the input: offsets count from here */
	size_t work;	      /* budget_work() */
};

/*
 * Writes the disassembly that `python` prints. Changes *marshal (sets get their
 * order), so call it once for a marshal_read(). What the arena's limit leaves
 * is the limit of what this takes for a while.
 *
 * A lenient one shows the code objects that marshal_salvage() could read, also
 * those that are not whole, and notes what that Python cannot have written.
 *
 * Returns 0; -ENOTSUP when a strict one finds such; -E2BIG as set_order() and
 * memory_take(), or when code objects are shown too often; -ENOMEM; -EFBIG when
 * the writer's limit was met. On failure *fault says why, and a part of the
 * text may have been written.
 */
int dis_write(struct writer *out, const struct python *python,
	      struct marshal *marshal, struct arena *arena,
	      const struct dis_options *options, struct fault *fault);

#endif
