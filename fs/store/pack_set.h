/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PACK_SET_H
#define TACFS_FS_STORE_PACK_SET_H

/* A set of the ids of packs, in 16 to 64 bytes for each. */

#include <stdbool.h>
#include <stddef.h>

#include "codec/digest.h"

struct pack_set {
	struct digest *slots; /* zero: empty; no pack has that id */
	size_t size;	      /* a power of two, or 0 */
	size_t count;
};

void pack_set_free(struct pack_set *set);
/* 0; or -ENOMEM. */
int pack_set_add(struct pack_set *set, const struct digest *id);
bool pack_set_has(const struct pack_set *set, const struct digest *id);

#endif
