/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/blocks.h"

#include <errno.h>

#include "fs/store/clock.h"
#include "fs/store/state.h"

enum { PLACES = 8 };

/* What to do with a block: decode it into `raw`, or verify it. */
struct work {
	struct store *store;
	struct block_room *room;
	void *raw;
	struct block_witness *witness;
	bool fresh; /* look whether a pack that is open is still current */
};

/* Errors that only say that this place does not have the block. */
static bool is_elsewhere(int err)
{
	return err == -ENOENT || err == -EBADMSG || err == -ESTALE;
}

static int use_wanted(const struct work *work, const struct block_want *want,
		      bool as_reference);

static int decode(const struct work *work, const struct pack *pack,
		  const struct pack_block *block,
		  struct block_reference reference)
{
	struct block_id id;
	void *stored = block->encoding == BLOCK_RAW &&
				       block->stored_size == block->id.size
			       ? work->raw
			       : work->room->stored;
	int err = pack_read(pack, block, stored);

	if (!err && stored != work->raw)
		err = block_decode(block->encoding, stored, block->stored_size,
				   reference, work->raw, block->id.size);
	if (err)
		return err;
	id = block_id_of(work->raw, block->id.size, work->store->format.seed);
	return block_id_equal(&id, &block->id) ? 0 : -EBADMSG;
}

static int verify(const struct work *work, struct pack *pack, size_t number,
		  const struct pack_block *block)
{
	bool settled = identity_settled(work->store, &pack->identity);
	int err;

	if (!work->witness->unread && !pack_is_verified(pack, number)) {
		err = pack_read(pack, block, work->room->stored);
		if (err)
			return err;
		if (settled)
			pack_set_verified(pack, number);
	}
	return work->witness->saw(work->witness, pack, settled);
}

/* The block that `block` was encoded against: into room->reference. */
static int use_reference(const struct work *work, const struct pack *pack,
			 const struct pack_block *block)
{
	static const struct digest this_pack;
	const struct pack_reference *reference =
		&pack->table.references[block->reference];
	struct block_want want = {
		.id = reference->id,
		.place = { .pack = reference->pack,
			   .number = reference->number },
	};
	struct work inner = *work;

	if (digest_equal(&want.place.pack, &this_pack))
		want.place.pack = pack->table.id;
	if (work->raw)
		inner.raw = work->room->reference;
	return use_wanted(&inner, &want, true);
}

static int use_block(const struct work *work, struct pack *pack, size_t number,
		     const struct block_id *id, bool as_reference)
{
	struct block_reference reference = { NULL, 0 };
	const struct pack_block *block;

	if (number >= pack->table.block_count)
		return -ENOENT;
	block = &pack->table.blocks[number];
	if (!block_id_equal(&block->id, id))
		return -ENOENT;
	if (block->reference != PACK_NO_REFERENCE) {
		int err = as_reference ? -EBADMSG /* one deep, never two */
				       : use_reference(work, pack, block);

		if (err)
			return err;
		reference.bytes = work->room->reference;
		reference.size =
			pack->table.references[block->reference].id.size;
	}
	if (!work->raw)
		return verify(work, pack, number, block);
	return decode(work, pack, block, reference);
}

static int use_place(const struct work *work, const struct block_want *want,
		     bool as_reference)
{
	struct pack *pack;
	int err = pack_pool_get(work->store, &want->place.pack, work->fresh,
				&pack);

	if (err)
		return err;
	err = use_block(work, pack, want->place.number, &want->id,
			as_reference);
	pack_pool_put(work->store, pack);
	return err;
}

/* -ENOENT when no place that the index knows now has the block. */
static int use_known(const struct work *work, const struct block_id *id,
		     bool as_reference)
{
	struct block_index *index = &work->store->index;
	struct block_place places[PLACES];
	size_t count;

	while ((count = block_index_find(index, id, places, PLACES))) {
		for (size_t i = 0; i < count; i++) {
			struct block_want want = { .id = *id,
						   .place = places[i] };
			int err = use_place(work, &want, as_reference);

			if (!is_elsewhere(err))
				return err;
			block_index_drop(index, id, &places[i]);
		}
	}
	return -ENOENT;
}

static int use_elsewhere(const struct work *work, const struct block_id *id,
			 bool as_reference)
{
	int refreshed = 0;
	int err = use_known(work, id, as_reference);

	if (err == -ENOENT) {
		refreshed = block_index_refresh(work->store, true);
		err = use_known(work, id, as_reference);
	}
	if (!err && work->witness)
		work->witness->moved = true;
	return err == -ENOENT && refreshed ? refreshed : err;
}

static int use_wanted(const struct work *work, const struct block_want *want,
		      bool as_reference)
{
	struct work again = *work;
	int err = use_place(work, want, as_reference);
	int other;

	again.fresh = true;
	if (err == -ESTALE)
		err = use_place(&again, want, as_reference);
	if (!is_elsewhere(err))
		return err;
	other = use_elsewhere(&again, &want->id, as_reference);
	/* What cannot be looked into is not known to be lost. */
	return other == -ENOENT && err == -ESTALE ? -ESTALE : other;
}

int blocks_fetch(struct store *store, const struct block_want *want,
		 struct block_room *room, void *raw)
{
	struct work work = { .store = store, .room = room, .raw = raw };

	return use_wanted(&work, want, false);
}

int blocks_fetch_at(struct store *store, const struct block_want *want,
		    struct block_room *room, void *raw)
{
	struct work work = {
		.store = store, .room = room, .raw = raw, .fresh = true
	};
	int err = use_place(&work, want, false);

	return is_elsewhere(err) ? -ENOENT : err;
}

int blocks_verify(struct store *store, const struct block_want *want,
		  struct block_room *room, struct block_witness *witness)
{
	struct work work = {
		.store = store, .room = room, .witness = witness, .fresh = true
	};

	return use_wanted(&work, want, false);
}
