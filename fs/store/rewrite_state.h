/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_REWRITE_STATE_H
#define TACFS_FS_STORE_REWRITE_STATE_H

/* Packs being rewritten. For fs/store/rewrite*.c only. */

#include "fs/store/blocks.h"
#include "fs/store/content.h"
#include "fs/store/manifest_walk.h"
#include "fs/store/pack_file.h"
#include "fs/store/rewrite.h"

/* A pack that is rewritten, and where its live blocks are then. */
struct rewrite_pack {
	const struct live_pack *old;
	uint32_t to;	/* which new pack */
	uint32_t first; /* number that its first live block has there */
};

/* Room to work in. */
struct rewrite_room {
	struct block_room blocks;
	uint8_t raw[BLOCK_MAX];
	uint8_t stored[BLOCK_MAX];
};

struct rewrite {
	struct manifest_walk walk; /* first: it is what others see of it */
	struct store *store;
	const struct rewrite_options *options;
	struct rewrite_result *result;
	struct live_ticker ticker;
	struct live live;
	bool in_refs; /* what is walked now */
	struct rewrite_room *room;

	struct rewrite_pack *packs; /* in the order of their ids */
	size_t count;
	size_t capacity;
	struct content_pack *made; /* the new packs, all in place in the end */
	size_t made_count;
	size_t made_capacity;
	struct pack_draft *draft; /* of the last one */
};

/*
 * Copies the live blocks of what is worth it into new packs, which are placed.
 * Only counts in a dry run. Returns 0 or a negative errno.
 */
int rewrite_packs(struct rewrite *r);

/* Gives the manifest another that names the new packs, if it needs one. */
int rewrite_manifest(struct rewrite *r, const struct manifest_spot *spot);

#endif
