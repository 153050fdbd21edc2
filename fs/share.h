/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_SHARE_H
#define TACFS_FS_SHARE_H

/* A part of something: of a file system, say. */

#include <stdint.h>

/* Both 0 for nothing. */
struct share {
	uint64_t bytes;
	unsigned percent;
};

/*
 * A size as size.h says, or a percentage up to "99%". Returns 0, or -EINVAL
 * when `text` is neither.
 */
int share_parse(const char *text, struct share *share);

/* How many bytes that is of a whole of so many. */
uint64_t share_of(const struct share *share, uint64_t whole);

#endif
