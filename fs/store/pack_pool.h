/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PACK_POOL_H
#define TACFS_FS_STORE_PACK_POOL_H

/*
 * The packs that are open, by id. What nobody uses is closed, the longest
 * unused first, when there are too many or their tables take too much memory.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>

#include "codec/digest.h"

struct pack;
struct store;

enum { POOL_BUCKETS = 1024 };

struct pack_pool {
	pthread_mutex_t lock; /* of what follows, and of the users of a pack */
	struct pack *buckets[POOL_BUCKETS];
	struct pack *newest;
	struct pack *oldest;
	size_t count;
	size_t count_limit;
	size_t held_limit;
	size_t memory;
};

int pack_pool_init(struct pack_pool *pool);
void pack_pool_free(struct pack_pool *pool);

/*
 * Opens the pack, or takes the one that is open. `fresh` asks for a look
 * whether that one is still what is at its path. Errors: pack_open()'s.
 */
int pack_pool_get(struct store *store, const struct digest *id, bool fresh,
		  struct pack **out);
void pack_pool_put(struct store *store, struct pack *pack);

/* Whether more packs may be kept open for those who hold them. */
bool pack_pool_has_room(struct pack_pool *pool);

/* Closes what nobody uses, to have descriptors and memory for others. */
void pack_pool_shrink(struct pack_pool *pool);

#endif
