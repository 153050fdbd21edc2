/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_DETECT_H
#define TACFS_COMPILER_PYTHON_DETECT_H

/*
 * Which CPython wrote a code object. Nothing in marshal says so; it follows
 * from what each version can, and would, have written.
 */

#include "codec/arena.h"
#include "compiler/fault.h"
#include "compiler/marshal.h"
#include "compiler/python/python.h"

/* A code object together with the Python to read it with. */
struct found {
	struct marshal marshal;
	const struct python *python;
};

/*
 * Reads `size` bytes of marshal that one of the pythons wrote. `protocol` is
 * that of the pickle around them, a hint between equals; 0 when there is none.
 * Where versions cannot be told apart they print the same, but for rare short
 * functions of 3.11 and 3.12, and for strings of 3.8 with what is printable
 * only since Unicode 13.
 *
 * Returns 0; -EBADMSG when the bytes are no code object in any layout;
 * -ENOTSUP when they are, but no known Python wrote it; -E2BIG, -ENOMEM. What
 * is found lives in the input and the arena.
 *
 * On failure *fault is set, and *found is what comes closest, for a lenient
 * dis_write(): its python is NULL when there is nothing to show.
 */
int detect_python(const void *bytes, size_t size, unsigned protocol,
		  struct arena *arena, struct found *found,
		  struct fault *fault);

/* The same when the Python is known: as if there were no other. */
int detect_given(const void *bytes, size_t size, const struct python *python,
		 struct arena *arena, struct found *found, struct fault *fault);

#endif
