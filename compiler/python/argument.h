/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_ARGUMENT_H
#define TACFS_COMPILER_PYTHON_ARGUMENT_H

/* What dis says about an argument, between parentheses (Lib/dis.py). */

#include "codec/writer.h"
#include "compiler/python/page.h"

/*
 * Writes the text, which may be empty, as it is for an argument that is not
 * sound. `user_classes` shows TorchAir's
 * stand-ins for classes among the constants, "<user_class>MODULE|NAME", as the
 * class.
 */
void argument_put(struct writer *out, const struct python *python,
		  const struct code *code, const struct page *page,
		  const struct instruction *instruction, bool user_classes);

#endif
