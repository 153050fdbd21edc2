/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_DIS_H
#define TACFS_COMPILER_PYTHON_DIS_H

/* The text of dis.dis() (Lib/dis.py), for a code object and those inside it. */

#include "codec/arena.h"
#include "codec/writer.h"
#include "compiler/marshal.h"
#include "compiler/python/python.h"

struct dis_options {
	bool user_classes; /* as argument_put()'s, in the outermost object */
};

/*
 * Writes the disassembly that `python` prints. Changes *marshal (sets get their
 * order), so call it once for a marshal_read(). Returns 0; -EBADMSG, with *why
 * a static string, when that Python has not written this; -E2BIG as
 * set_order() and memory_take(); -ENOMEM; -EFBIG when the writer's limit was
 * met. On failure a part of the text may have been written.
 */
int dis_write(struct writer *out, const struct python *python,
	      struct marshal *marshal, struct arena *arena,
	      const struct dis_options *options, const char **why);

#endif
