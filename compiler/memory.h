/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_MEMORY_H
#define TACFS_COMPILER_MEMORY_H

/*
 * An arena's memory, and why there is none: an input that wants more than the
 * limit always wants it, but a system short of memory may have some later.
 */

#include "codec/arena.h"

/*
 * As arena_array(). When that gives NULL, *err is -E2BIG if the limit was in
 * the way and -ENOMEM if not; otherwise it is left alone.
 */
void *memory_take(struct arena *arena, size_t count, size_t size, int *err);

/* "it needs more memory than allowed", or "out of memory". */
const char *memory_why(int err);

#endif
