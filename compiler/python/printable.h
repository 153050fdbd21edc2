/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_PRINTABLE_H
#define TACFS_COMPILER_PYTHON_PRINTABLE_H

/* Which code points Python's repr() of a string leaves as they are. */

#include <stdbool.h>
#include <stdint.h>

/* The versions of Unicode of CPython 3.8; 3.9, 3.10; 3.11; ... 3.14. */
enum unicode {
	UNICODE_12_1,
	UNICODE_13_0,
	UNICODE_14_0,
	UNICODE_15_0,
	UNICODE_15_1,
	UNICODE_16_0
};

/* str.isprintable() of one code point in a Python with that Unicode. */
bool printable_is(uint32_t point, enum unicode version);

#endif
