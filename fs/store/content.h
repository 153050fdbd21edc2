/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CONTENT_H
#define TACFS_FS_STORE_CONTENT_H

/*
 * Content on its way into the store: cut into chunks, each either found in the
 * store, byte for byte, or added to a new pack.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/manifest.h"
#include "fs/store/identity.h"
#include "fs/store/pack_draft.h"
#include "fs/store/store.h"

/* A pack that the content has blocks in. */
struct content_pack {
	struct digest id;
	struct file_identity identity; /* of a reused one */
	bool reused;
};

struct content {
	struct digest digest;
	uint8_t sha256[SHA256_SIZE];
	uint64_t stored; /* bytes of its blocks, each counted once */
	struct manifest_block *blocks;
	size_t block_count;
	size_t block_capacity;
	struct content_pack *packs;
	size_t pack_count;
	size_t pack_capacity;
	struct pack_draft *drafts; /* complete, not placed; newest first */
	uint32_t *seen; /* a hash table: blocks by their ids; see content.c */
	size_t seen_size;
};

/*
 * Reads `size` bytes of `fd` and fills `content`, which the caller frees also
 * when this fails. Nothing is reused when `reuse` is false. Returns 0; -ENODATA
 * when the file is shorter; other errnos of the system.
 */
int content_store(struct store *store, int fd, uint64_t size, bool reuse,
		  struct content *content);
void content_free(struct content *content);

/*
 * Whether all packs that were reused are still where they were found, and with
 * `placed` the new ones, too. What a collector has set aside is brought back.
 */
bool content_is_there(struct store *store, const struct content *content,
		      bool placed);

#endif
