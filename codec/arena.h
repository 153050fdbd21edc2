/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_ARENA_H
#define TACFS_CODEC_ARENA_H

/*
 * An arena hands out zeroed memory that is released all at once. A decoder of
 * untrusted bytes takes its memory here, so that one limit bounds it.
 */

#include <stddef.h>

struct arena_slab;

struct arena {
	struct arena_slab *slabs;
	size_t used;  /* bytes taken from the system */
	size_t limit; /* of `used` */
};

/* An arena of at most `limit` bytes. Allocates nothing yet. */
struct arena arena_upto(size_t limit);
void arena_free(struct arena *a);
/* As arena_free(), but keeps a little memory for what is taken next. */
void arena_reuse(struct arena *a);

/* Zeroed and aligned for any type; NULL when the limit or memory is used up. */
void *arena_alloc(struct arena *a, size_t size);
/* The same for `count` elements; NULL also when the product overflows. */
void *arena_array(struct arena *a, size_t count, size_t size);

#endif
