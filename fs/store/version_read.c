/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/own.h"
#include "fs/store/blocks.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* A read that runs. */
struct reading {
	struct store *store;
	const struct version *v;
	struct block_room room;
	uint8_t raw[BLOCK_MAX];
};

/* The last block that starts at or before `offset`, which is in the file. */
static size_t block_at(const struct manifest *m, uint64_t offset)
{
	size_t low = 0;
	size_t high = m->block_count;

	while (high - low > 1) {
		size_t middle = low + (high - low) / 2;

		if (m->blocks[middle].start <= offset)
			low = middle;
		else
			high = middle;
	}
	return low;
}

static struct block_want want_of(const struct manifest *m,
				 const struct manifest_block *block)
{
	return (struct block_want){
		.id = block->id,
		.place = { .pack = m->packs[block->pack],
			   .number = block->number },
	};
}

/* A block that is wanted whole goes straight to where it is wanted. */
static int read_part(struct reading *reading,
		     const struct manifest_block *block, size_t offset,
		     uint8_t *bytes, size_t size)
{
	struct block_cache *cache = &reading->store->cache;
	struct block_want want = want_of(&reading->v->manifest, block);
	int err;

	if (block_cache_copy(cache, &want.place, &want.id, offset, bytes, size))
		return 0;
	if (size == block->id.size)
		return blocks_fetch(reading->store, &want, &reading->room,
				    bytes);
	err = blocks_fetch(reading->store, &want, &reading->room, reading->raw);
	if (err)
		return err;
	block_cache_add(cache, &want.place, &want.id, reading->raw);
	memcpy(bytes, reading->raw + offset, size);
	return 0;
}

static int read_blocks(struct reading *reading, uint64_t offset, uint8_t *bytes,
		       size_t size)
{
	const struct manifest *m = &reading->v->manifest;
	const struct manifest_block *block = &m->blocks[block_at(m, offset)];

	for (; size; block++) {
		size_t skipped = (size_t)(offset - block->start);
		size_t part = block->id.size - skipped;
		int err;

		if (part > size)
			part = size;
		err = read_part(reading, block, skipped, bytes, part);
		if (err)
			return err;
		offset += part;
		bytes += part;
		size -= part;
	}
	return 0;
}

ssize_t version_read_any(struct store *store, const struct version *v,
			 uint64_t offset, void *bytes, size_t size)
{
	const struct manifest *m = &v->manifest;
	AUTO_FREE struct reading *reading = NULL;
	int err;

	if (offset >= m->meta.size)
		return 0;
	if (size > m->meta.size - offset)
		size = (size_t)(m->meta.size - offset);
	if (!size)
		return 0;
	if (m->content) {
		memcpy(bytes, m->content + offset, size);
		return (ssize_t)size;
	}
	reading = malloc(sizeof(*reading));
	if (!reading)
		return -ENOMEM;
	reading->store = store;
	reading->v = v;
	err = read_blocks(reading, offset, bytes, size);
	return err ? err : (ssize_t)size;
}

ssize_t version_read(struct store *store, struct version *v, uint64_t offset,
		     void *bytes, size_t size)
{
	ssize_t got = version_read_any(store, v, offset, bytes, size);

	return got == -ENOENT ? -EIO : got;
}
