/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_RULES_H
#define TACFS_COMPILER_PYTHON_RULES_H

/*
 * What the compiler of each CPython keeps to, though its interpreter would run
 * code that does not: the finer half of telling the versions apart. (Each was
 * measured on the standard libraries of all versions.)
 */

#include "compiler/python/program.h"

/*
 * How many rules of `python` a code object breaks. Returns 0 and counts into
 * *broken; -EBADMSG when the tables of lines or exceptions are none.
 */
int rules_check(const struct python *python, const struct code *code,
		const struct program *program, unsigned *broken);

/* Whether somewhere LOAD_CONST is directly followed by RETURN_VALUE. */
bool rules_returns_const(const struct python *python,
			 const struct program *program);

#endif
