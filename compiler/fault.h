/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_FAULT_H
#define TACFS_COMPILER_FAULT_H

/* Why an input was refused. */

#include <stddef.h>

#include "codec/writer.h"
#include "compiler/utf8.h"

struct fault {
	const char *why;      /* a static string, part of a sentence */
	size_t where;	      /* the offset that it speaks of */
	struct text names[2]; /* in the input: what it speaks of, or NULL */
};

/* Writes `why`, and then the names, as long as they are short. */
void fault_put(const struct fault *fault, struct writer *out);

#endif
