/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PACK_SET_H
#define TACFS_FS_STORE_PACK_SET_H

/*
 * Ids of packs, each with a few marks. Takes 17 bytes a place, and has between
 * 4/3 and 8/3 places an id.
 */

#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"

struct pack_set {
	struct pack_mark *places;
	size_t size; /* a power of two, or 0 */
	size_t count;
};

enum {
	PACK_IS_THERE = 1,
	PACK_IS_USED = 2,
	PACK_IS_IN_TRASH = 4,
	PACK_IS_CLOSED = 8 /* there, but not for us: newer, of others */
};

void pack_set_free(struct pack_set *set);

/* Adds the id, unless it is there, and the marks. Returns 0 or -ENOMEM. */
int pack_set_mark(struct pack_set *set, const struct digest *id, uint8_t marks);
/* The marks of an id; 0 for one that is not there. */
uint8_t pack_set_marks(const struct pack_set *set, const struct digest *id);
/* How many ids have just these marks out of those of `mask`. */
uint64_t pack_set_count(const struct pack_set *set, uint8_t mask,
			uint8_t marks);

#endif
