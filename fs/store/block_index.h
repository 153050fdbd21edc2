/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_BLOCK_INDEX_H
#define TACFS_FS_STORE_BLOCK_INDEX_H

/*
 * Where blocks are, by their id: a hint for sharing, and for finding a block
 * that is not where its manifest says. In memory, filled from the tables of all
 * packs when it is first asked, and again with the packs that came since.
 *
 * It takes 16 bytes for an entry, and has between 4/3 and 4 entries a block.
 * Packs that are gone are forgotten when they are a quarter of all.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>
#include <time.h>

#include "codec/pack.h"
#include "fs/store/block_cache.h"

struct store;
struct index_slot;
struct index_pack;

enum { INDEX_FANS = 256 };

/* A directory of packs as it was when it was last listed. */
struct index_fan {
	ino_t ino;
	struct timespec mtime;
	bool settled; /* a change since then shows in the mtime */
	/* guarded by `lock` */
	uint32_t listings; /* that were complete */
	size_t packs;	   /* known ones */
	size_t missing;	   /* of those, when it was last listed */
};

struct block_index {
	pthread_mutex_t lock; /* of the slots, and of what is known of packs */
	struct index_slot *slots;
	size_t slot_count; /* a power of two, or 0 */
	size_t slots_used;
	struct index_pack *packs;
	size_t pack_count;
	size_t pack_capacity;
	uint32_t *pack_slots; /* numbers of packs, by their ids */
	size_t pack_slot_count;

	pthread_mutex_t scan; /* of what follows; taken before `lock` */
	struct index_fan fans[INDEX_FANS];
	_Atomic uint64_t scans; /* that were begun */
};

void block_index_init(struct block_index *index);
void block_index_free(struct block_index *index);

/*
 * Reads the tables of all packs that are not known yet; with `fresh` also of
 * those that another host has just made (fresh.h). Returns 0, or the first
 * error that kept a pack or a directory from being read; what can be read is
 * known also then.
 */
int block_index_refresh(struct store *store, bool fresh);

/* Adds the blocks of a pack, once. Returns 0 or -ENOMEM. */
int block_index_add(struct block_index *index, const struct pack_table *table);

/*
 * Up to `limit` places that may hold the block. A place found may hold another
 * one, or nothing any more: look, and drop it if so. To see more than `limit`
 * places, drop some.
 */
size_t block_index_find(struct block_index *index, const struct block_id *id,
			struct block_place *places, size_t limit);
void block_index_drop(struct block_index *index, const struct block_id *id,
		      const struct block_place *place);

/* Forgets the packs that were gone when their directories were listed. */
void block_index_forget(struct block_index *index);

#endif
