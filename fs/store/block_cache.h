/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_BLOCK_CACHE_H
#define TACFS_FS_STORE_BLOCK_CACHE_H

/*
 * Blocks that were decoded and checked, by their place; for reads that want a
 * part of a block. A block never changes, so nothing here ever goes stale.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "codec/block.h"

/* Where a block is. */
struct block_place {
	struct digest pack;
	uint32_t number;
};

struct cached_block;

enum { CACHE_BUCKETS = 4096 };

struct block_cache {
	pthread_mutex_t lock; /* of what follows; held for no I/O, no copying */
	struct cached_block *buckets[CACHE_BUCKETS];
	struct cached_block *newest;
	struct cached_block *oldest;
	size_t bytes;
};

void block_cache_init(struct block_cache *cache);
void block_cache_free(struct block_cache *cache);

/*
 * Copies `size` bytes from `offset` of the block `id`, which is at `place`.
 * False when it is not here.
 */
bool block_cache_copy(struct block_cache *cache,
		      const struct block_place *place,
		      const struct block_id *id, size_t offset, void *bytes,
		      size_t size);

/* Keeps a copy of id->size bytes; does not when there is no memory. */
void block_cache_add(struct block_cache *cache, const struct block_place *place,
		     const struct block_id *id, const void *raw);

#endif
