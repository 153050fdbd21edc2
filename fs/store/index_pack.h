/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_INDEX_PACK_H
#define TACFS_FS_STORE_INDEX_PACK_H

/*
 * The packs that an index knows, numbered in the order they came. With
 * index->lock held.
 */

#include "fs/store/block_index.h"

/* -EEXIST when it is known; -ENOMEM. */
int index_packs_add(struct block_index *index, const struct digest *id,
		    uint32_t *number);
bool index_packs_has(const struct block_index *index, const struct digest *id);
struct digest index_packs_id(const struct block_index *index, uint32_t number);

#endif
