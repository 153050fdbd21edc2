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
struct digest index_packs_id(const struct block_index *index, uint32_t number);

/* Whether the pack is known; if so, that it was just seen in its directory. */
bool index_packs_see(struct block_index *index, const struct digest *id);
/* All of the directory was seen: of the packs known there, this many. */
void index_packs_listed(struct block_index *index, unsigned fan, size_t seen);
/* Whether so many packs are gone that it pays to forget them. */
bool index_packs_are_stale(const struct block_index *index);
/*
 * Forgets the packs that are gone. numbers[i], for each of the pack_count packs
 * that there were, is the new number of the pack plus 1, or 0 when it went.
 */
void index_packs_forget(struct block_index *index, uint32_t *numbers);

#endif
