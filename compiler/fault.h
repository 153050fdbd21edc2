/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_FAULT_H
#define TACFS_COMPILER_FAULT_H

/* Why an input was refused. */

#include <stddef.h>

struct fault {
	const char *why; /* a static string, part of a sentence */
	size_t where;	 /* the offset that it speaks of */
};

#endif
