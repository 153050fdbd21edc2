/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/content.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/chunk.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/blocks.h"
#include "fs/store/fresh.h"
#include "fs/store/pack_file.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"

enum {
	WINDOW_SIZE = 1024 * 1024,
	SMALL_FILE_MAX = 16 * 1024 * 1024, /* above: encoded fast */
	PACK_BLOCKS_MAX = 64 * 1024,
	PLACES = 8,
	FIRST_SEEN = 256
};

/* A run over the content of one file. */
struct run {
	struct store *store;
	struct content *content;
	struct file_hash *hash;
	struct block_room room;
	uint8_t raw[BLOCK_MAX]; /* what a chunk is compared with */
	uint8_t *window;
	int fd;
	uint64_t size;
	enum block_effort effort;
	bool reuse;
	bool refreshed; /* the index, in this run */
};

static void *grown(void *array, size_t count, size_t *capacity, size_t size)
{
	size_t more = *capacity ? *capacity * 2 : 16;

	if (count < *capacity)
		return array;
	array = reallocarray(array, more, size);
	if (array)
		*capacity = more;
	return array;
}

/* The number of the pack in the manifest. */
static int pack_number(struct content *content, const struct digest *id,
		       uint32_t *number)
{
	struct content_pack *packs;

	for (size_t i = content->pack_count; i-- > 0;)
		if (digest_equal(&content->packs[i].id, id)) {
			*number = (uint32_t)i;
			return 0;
		}
	packs = grown(content->packs, content->pack_count,
		      &content->pack_capacity, sizeof(*packs));
	if (!packs)
		return -ENOMEM;
	content->packs = packs;
	*number = (uint32_t)content->pack_count;
	packs[content->pack_count++] = (struct content_pack){ .id = *id };
	return 0;
}

static size_t seen_slot(const struct content *content,
			const struct block_id *id)
{
	size_t slot;

	memcpy(&slot, id->digest.b, sizeof(slot));
	return slot & (content->seen_size - 1);
}

/* Makes room in `seen`, which holds block numbers plus one. */
static int grow_seen(struct content *content)
{
	size_t size = content->seen_size ? content->seen_size * 2 : FIRST_SEEN;
	uint32_t *seen;

	if (content->block_count < content->seen_size / 2)
		return 0;
	seen = calloc(size, sizeof(*seen));
	if (!seen)
		return -ENOMEM;
	free(content->seen);
	content->seen = seen;
	content->seen_size = size;
	for (size_t i = 0; i < content->block_count; i++) {
		size_t slot = seen_slot(content, &content->blocks[i].id);

		while (seen[slot])
			slot = (slot + 1) & (size - 1);
		seen[slot] = (uint32_t)i + 1;
	}
	return 0;
}

static int add_block(struct content *content,
		     const struct manifest_block *block)
{
	struct manifest_block *blocks =
		grown(content->blocks, content->block_count,
		      &content->block_capacity, sizeof(*blocks));
	size_t slot;
	int err;

	if (!blocks)
		return -ENOMEM;
	content->blocks = blocks;
	if (content->block_count >= UINT32_MAX - 1)
		return -EFBIG;
	err = grow_seen(content);
	if (err)
		return err;
	slot = seen_slot(content, &block->id);
	while (content->seen[slot])
		slot = (slot + 1) & (content->seen_size - 1);
	blocks[content->block_count++] = *block;
	content->seen[slot] = (uint32_t)content->block_count;
	return 0;
}

/* The same chunk earlier in this file: compared where it lies in the file. */
static bool find_seen(struct run *run, const uint8_t *chunk,
		      struct manifest_block *block)
{
	const struct content *content = run->content;
	size_t slot;

	if (!content->seen_size)
		return false;
	for (slot = seen_slot(content, &block->id); content->seen[slot];
	     slot = (slot + 1) & (content->seen_size - 1)) {
		const struct manifest_block *seen =
			&content->blocks[content->seen[slot] - 1];

		if (!block_id_equal(&seen->id, &block->id) ||
		    fd_read_at(run->fd, run->raw, block->id.size,
			       seen->start) != 0 ||
		    memcmp(run->raw, chunk, block->id.size) != 0)
			continue;
		block->pack = seen->pack;
		block->number = seen->number;
		return true;
	}
	return false;
}

/* The file of that name may be another than the one that was looked at. */
static bool has_block(const struct pack *pack, const struct block_place *place,
		      const struct block_id *id)
{
	return place->number < pack->table.block_count &&
	       block_id_equal(&pack->table.blocks[place->number].id, id);
}

/* Notes that a block of the pack is reused; looks up which file it is. */
static int reuse_pack(struct run *run, const struct block_place *place,
		      struct manifest_block *block)
{
	struct content_pack *used;
	struct pack *pack;
	int err = pack_pool_get(run->store, &place->pack, false, &pack);

	if (err)
		return err;
	err = has_block(pack, place, &block->id)
		      ? pack_number(run->content, &place->pack, &block->pack)
		      : -ENOENT;
	if (!err) {
		used = &run->content->packs[block->pack];
		used->identity = pack->identity;
		used->reused = true;
		block->number = place->number;
		run->content->stored +=
			pack->table.blocks[place->number].stored_size;
	}
	pack_pool_put(run->store, pack);
	return err;
}

/* Decodes the candidate and compares: a hash proves nothing. */
static int try_place(struct run *run, const uint8_t *chunk,
		     const struct block_place *place,
		     struct manifest_block *block)
{
	struct block_want want = { .id = block->id, .place = *place };
	int err = blocks_fetch_at(run->store, &want, &run->room, run->raw);

	if (err == -ENOENT)
		block_index_drop(&run->store->index, &block->id, place);
	if (err)
		return err;
	if (memcmp(run->raw, chunk, block->id.size) != 0)
		return -ENOENT;
	return reuse_pack(run, place, block);
}

/* What cannot be read is not shared; the content is stored once more. */
static bool find_stored(struct run *run, const uint8_t *chunk,
			struct manifest_block *block)
{
	struct block_place places[PLACES];
	size_t count = block_index_find(&run->store->index, &block->id, places,
					PLACES);

	for (size_t i = 0; i < count; i++)
		if (try_place(run, chunk, &places[i], block) == 0)
			return true;
	return false;
}

static bool find_equal(struct run *run, const uint8_t *chunk,
		       struct manifest_block *block)
{
	if (find_seen(run, chunk, block))
		return true;
	if (!run->reuse)
		return false;
	if (find_stored(run, chunk, block))
		return true;
	if (run->refreshed)
		return false;
	run->refreshed = true;
	(void)block_index_refresh(run->store, false);
	return find_stored(run, chunk, block);
}

/* The pack that takes new blocks. */
static int open_draft(struct run *run, struct pack_draft **out)
{
	struct pack_draft *last = run->content->drafts;
	struct pack_draft *draft;
	int err = 0;

	*out = last;
	if (last && last->table.block_count < PACK_BLOCKS_MAX)
		return 0;
	if (last)
		err = pack_draft_end(last);
	if (!err)
		err = pack_draft_open(run->store, &draft);
	if (err)
		return err;
	draft->next = last;
	run->content->drafts = draft;
	*out = draft;
	return 0;
}

static int store_new(struct run *run, const uint8_t *chunk,
		     struct manifest_block *block)
{
	struct block_reference none = { NULL, 0 };
	enum block_encoding encoding;
	struct pack_draft *draft;
	size_t stored_size;
	int err = open_draft(run, &draft);

	if (!err)
		err = block_encode(chunk, block->id.size, run->effort, none,
				   run->room.stored, &stored_size, &encoding);
	if (!err)
		err = pack_number(run->content, &draft->table.id, &block->pack);
	if (err)
		return err;
	run->content->stored += stored_size;
	return pack_draft_add(draft, &block->id, encoding, run->room.stored,
			      stored_size, &block->number);
}

static int take_chunk(struct run *run, const uint8_t *chunk, size_t size,
		      uint64_t start)
{
	struct manifest_block block = {
		.id = block_id_of(chunk, size, run->store->format.seed),
		.start = start,
	};
	int err = 0;

	if (!find_equal(run, chunk, &block))
		err = store_new(run, chunk, &block);
	return err ? err : add_block(run->content, &block);
}

/*
 * Cuts the window into chunks, the last of them only at the end of the file:
 * a cut may depend on CHUNK_MAX bytes. Tells how many bytes were taken.
 */
static int take_window(struct run *run, size_t filled, uint64_t start,
		       size_t *taken)
{
	bool last = start + filled == run->size;
	size_t at = 0;

	while (filled - at >= CHUNK_MAX || (last && filled > at)) {
		size_t size = chunk_first(run->window + at, filled - at);
		int err = take_chunk(run, run->window + at, size, start + at);

		if (err)
			return err;
		at += size;
	}
	*taken = at;
	return 0;
}

static int take_all(struct run *run)
{
	uint64_t start = 0; /* of the window, in the file */
	size_t kept = 0;    /* bytes of it that the last window left */

	while (start < run->size) {
		uint64_t left = run->size - start - kept;
		size_t more = WINDOW_SIZE - kept;
		size_t taken;
		int err;

		if (more > left)
			more = (size_t)left;
		err = fd_read_at(run->fd, run->window + kept, more,
				 start + kept);
		if (err)
			return err;
		file_hash_add(run->hash, run->window + kept, more);
		err = take_window(run, kept + more, start, &taken);
		if (err)
			return err;
		kept = kept + more - taken;
		memmove(run->window, run->window + taken, kept);
		start += taken;
	}
	return 0;
}

static int finish(struct run *run)
{
	struct content *content = run->content;

	file_hash_end(run->hash, &content->digest, content->sha256);
	return content->drafts ? pack_draft_end(content->drafts) : 0;
}

static int run_over(struct run *run)
{
	int err;

	run->hash = file_hash_new();
	if (!run->hash)
		return -ENOMEM;
	err = take_all(run);
	if (!err)
		err = finish(run);
	file_hash_free(run->hash);
	return err;
}

int content_store(struct store *store, int fd, uint64_t size, bool reuse,
		  struct content *content)
{
	AUTO_FREE struct run *run = malloc(sizeof(*run));
	AUTO_FREE uint8_t *window =
		malloc(size < WINDOW_SIZE ? (size_t)size + 1 : WINDOW_SIZE);

	*content = (struct content){ .block_count = 0 };
	if (!run || !window)
		return -ENOMEM;
	run->store = store;
	run->content = content;
	run->window = window;
	run->fd = fd;
	run->size = size;
	run->effort = size <= SMALL_FILE_MAX ? BLOCK_SMALL : BLOCK_FAST;
	run->reuse = reuse;
	run->refreshed = false;
	return run_over(run);
}

void content_free(struct content *content)
{
	while (content->drafts) {
		struct pack_draft *next = content->drafts->next;

		pack_draft_free(content->drafts);
		content->drafts = next;
	}
	free(content->blocks);
	free(content->packs);
	free(content->seen);
}

static bool is_at_path(const struct store *store,
		       const struct content_pack *pack)
{
	struct file_identity now;
	char path[PACK_PATH_SIZE];
	struct stat st;

	pack_path(&pack->id, path);
	if (pack->reused)
		fresh_path(store, store->packs, path);
	if (fd_stat_at(store->packs, path, &st) < 0)
		return false;
	now = identity_of(&st);
	return !pack->reused || identity_same_file(&now, &pack->identity);
}

bool content_is_there(struct store *store, const struct content *content,
		      bool placed)
{
	for (size_t i = 0; i < content->pack_count; i++) {
		const struct content_pack *pack = &content->packs[i];

		if (!pack->reused && !placed)
			continue;
		if (!is_at_path(store, pack) &&
		    (bring_back_pack(store, &pack->id) ||
		     !is_at_path(store, pack)))
			return false;
	}
	return true;
}
