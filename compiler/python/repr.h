/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_REPR_H
#define TACFS_COMPILER_PYTHON_REPR_H

/* What Python's repr() says of a value. */

#include "codec/writer.h"
#include "compiler/python/python.h"
#include "compiler/python/value.h"

/*
 * A shared value is written as often as it occurs, so only the writer's limit
 * bounds the text. Sets are written in the order of their items.
 */
void repr_value(struct writer *out, const struct value *value,
		enum unicode unicode);
/* The repr of a str, from valid UTF-8. */
void repr_str(struct writer *out, struct text text, enum unicode unicode);
/* <code object NAME at 0x0, file "FILE", line N> */
void repr_code(struct writer *out, const struct code *code);

#endif
