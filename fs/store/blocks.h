/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_BLOCKS_H
#define TACFS_FS_STORE_BLOCKS_H

/*
 * Blocks by their ids, wherever they are. The place that is asked first is a
 * hint; when the block is not there, or not whole, it is looked for in the
 * index.
 */

#include <stdbool.h>

#include "codec/block.h"
#include "fs/store/block_cache.h"
#include "fs/store/pack_file.h"
#include "fs/store/store.h"

/* Room to work in, for one thread. */
struct block_room {
	uint8_t stored[BLOCK_MAX];
	uint8_t reference[BLOCK_MAX];
};

/* A block that is wanted, and where it should be. */
struct block_want {
	struct block_id id;
	struct block_place place;
};

/*
 * Decodes the block into id.size bytes and checks them against the id. Returns
 * 0; -ENOENT when it is whole nowhere; other errnos of the system.
 */
int blocks_fetch(struct store *store, const struct block_want *want,
		 struct block_room *room, void *raw);

/* The same, from one place only. */
int blocks_fetch_at(struct store *store, const struct block_want *want,
		    struct block_room *room, void *raw);

/*
 * Told of every pack in which a wanted block, or its reference, was found
 * whole; `settled` as in identity.h. `moved` is set when that was not the place
 * that was asked first.
 */
struct block_witness {
	bool moved;
	bool unread; /* it is enough that a pack's table has the block */
	int (*saw)(struct block_witness *witness, const struct pack *pack,
		   bool settled);
};

/*
 * Makes sure that the stored bytes of the block are whole, somewhere. Reads
 * only what was not verified before. Errors as above.
 */
int blocks_verify(struct store *store, const struct block_want *want,
		  struct block_room *room, struct block_witness *witness);

#endif
