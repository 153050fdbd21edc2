/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_BUDGET_H
#define TACFS_COMPILER_BUDGET_H

/*
 * What showing one input may cost. An input refers to its own parts as often as
 * it likes, so that a small one may stand for a tree of any size; these bounds
 * are far above what a compiler writes, and grow with the input only.
 *
 * With the input itself they add up to less than 64 MiB and 16 bytes for each
 * byte of input, all memory of a process that shows one file included.
 */

#include <stddef.h>

/* Of all arenas at one time: 16 MiB, and 10 bytes a byte. */
size_t budget_memory(size_t input_size);
/* Of text: 32 MiB, and 4 bytes a byte. */
size_t budget_text(size_t input_size);
/* Bytes of code and tables that are gone through: 4 MiB, and 4 a byte. */
size_t budget_work(size_t input_size);

#endif
