/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_FUZZ_CODE_RECIPE_H
#define TACFS_TESTS_FUZZ_CODE_RECIPE_H

/*
 * Any bytes as a recipe of a well-formed marshalled code object, so that a
 * fuzzer need not find out how marshal nests. What the input lacks is zero:
 *
 *   u8 which Python: 0 is 3.8 (modulo 7); u8 arguments, u8 keyword-only ones
 *   le32 flags; le32 first line
 *   u8 counts of constants, names, locals, cells, free variables
 *   u8 the first of the names
 *   le16 size, bytecode; le16 size, line table; le16 size, exception table
 *   a byte for each local, cell and free variable: its kind XOR the usual one
 *   the constants: each a byte that says its type, and what code_recipe.c
 *   reads for it; one may be a recipe, without a Python
 */

#include "codec/reader.h"
#include "codec/writer.h"

/*
 * Reads a recipe and writes its code object. Returns the index of its Python.
 * Only out->err can tell of a failure: -EFBIG or -ENOMEM.
 */
size_t code_recipe_write(struct reader *recipe, struct writer *out);

#endif
