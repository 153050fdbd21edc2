/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PICKLE_SCAN_H
#define TACFS_COMPILER_PICKLE_SCAN_H

/*
 * Whether a pickle of any protocol and any content is whole: so that one which
 * was made by somebody else can be told from one that was cut short.
 */

#include <stddef.h>

enum pickle_state {
	PICKLE_WHOLE,
	PICKLE_NEWER, /* a later protocol; its last byte is a STOP at least */
	PICKLE_BROKEN
};

/*
 * Whole is: opcodes that exist, with arguments that fit, that never take more
 * from the stack than is there, up to a STOP that is the last byte. Of what is
 * broken, *why (static) and *where say how.
 */
enum pickle_state pickle_scan(const void *bytes, size_t size, const char **why,
			      size_t *where);

#endif
