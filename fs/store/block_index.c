/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/block_index.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/store/index_pack.h"

enum { FIRST_SLOTS = 1024 };

/* `pack` is one more than the pack's number; 0 in an empty slot. */
struct index_slot {
	uint64_t tag;
	uint32_t pack;
	uint32_t block;
};

static const uint32_t dropped = UINT32_MAX; /* for `pack` */

void block_index_init(struct block_index *index)
{
	*index = (struct block_index){ .slots = NULL };
	pthread_mutex_init(&index->lock, NULL);
	pthread_mutex_init(&index->scan, NULL);
}

void block_index_free(struct block_index *index)
{
	free(index->slots);
	free(index->packs);
	free(index->pack_slots);
	pthread_mutex_destroy(&index->lock);
	pthread_mutex_destroy(&index->scan);
}

/* Mixes in the check, so that contents made to collide are told apart. */
static uint64_t tag_of(const struct block_id *id)
{
	uint64_t tag;

	memcpy(&tag, id->digest.b, sizeof(tag));
	return tag ^ id->check * UINT64_C(0x9e3779b97f4a7c15);
}

static void put_slot(struct index_slot *slots, size_t count,
		     struct index_slot slot)
{
	size_t at = slot.tag & (count - 1);

	while (slots[at].pack)
		at = (at + 1) & (count - 1);
	slots[at] = slot;
}

static bool is_live(const struct index_slot *slot)
{
	return slot->pack && slot->pack != dropped;
}

static size_t count_live(const struct block_index *index)
{
	size_t count = 0;

	for (size_t i = 0; i < index->slot_count; i++)
		count += is_live(&index->slots[i]);
	return count;
}

/* Room for `more` blocks; what was dropped goes. */
static int reserve_slots(struct block_index *index, size_t more)
{
	size_t count = FIRST_SLOTS;
	struct index_slot *slots;
	size_t live;

	if (index->slot_count &&
	    index->slots_used + more <= index->slot_count / 4 * 3)
		return 0;
	live = count_live(index);
	while (live + more > count / 2)
		count *= 2;
	slots = calloc(count, sizeof(*slots));
	if (!slots)
		return -ENOMEM;
	for (size_t i = 0; i < index->slot_count; i++)
		if (is_live(&index->slots[i]))
			put_slot(slots, count, index->slots[i]);
	free(index->slots);
	index->slots = slots;
	index->slot_count = count;
	index->slots_used = live;
	return 0;
}

int block_index_add(struct block_index *index, const struct pack_table *table)
{
	uint32_t pack;
	int err;

	pthread_mutex_lock(&index->lock);
	err = reserve_slots(index, table->block_count);
	if (!err)
		err = index_packs_add(index, &table->id, &pack);
	for (size_t i = 0; !err && i < table->block_count; i++) {
		struct index_slot slot = {
			.tag = tag_of(&table->blocks[i].id),
			.pack = pack + 1,
			.block = (uint32_t)i,
		};

		put_slot(index->slots, index->slot_count, slot);
		index->slots_used++;
	}
	pthread_mutex_unlock(&index->lock);
	return err == -EEXIST ? 0 : err;
}

size_t block_index_find(struct block_index *index, const struct block_id *id,
			struct block_place *places, size_t limit)
{
	uint64_t tag = tag_of(id);
	size_t found = 0;

	pthread_mutex_lock(&index->lock);
	for (size_t i = 0; i < index->slot_count && found < limit; i++) {
		size_t at = (size_t)(tag + i) & (index->slot_count - 1);
		const struct index_slot *slot = &index->slots[at];

		if (!slot->pack)
			break;
		if (slot->tag != tag || slot->pack == dropped)
			continue;
		places[found].pack = index_packs_id(index, slot->pack - 1);
		places[found++].number = slot->block;
	}
	pthread_mutex_unlock(&index->lock);
	return found;
}

void block_index_drop(struct block_index *index, const struct block_id *id,
		      const struct block_place *place)
{
	uint64_t tag = tag_of(id);

	pthread_mutex_lock(&index->lock);
	for (size_t i = 0; i < index->slot_count; i++) {
		size_t at = (size_t)(tag + i) & (index->slot_count - 1);
		struct index_slot *slot = &index->slots[at];
		struct digest pack;

		if (!slot->pack)
			break;
		if (slot->tag != tag || slot->pack == dropped ||
		    slot->block != place->number)
			continue;
		pack = index_packs_id(index, slot->pack - 1);
		if (digest_equal(&pack, &place->pack))
			slot->pack = dropped;
	}
	pthread_mutex_unlock(&index->lock);
}

void block_index_forget(struct block_index *index)
{
	uint32_t *numbers = NULL;

	pthread_mutex_lock(&index->lock);
	if (index_packs_are_stale(index))
		numbers = malloc(index->pack_count * sizeof(*numbers));
	if (numbers) {
		index_packs_forget(index, numbers);
		for (size_t i = 0; i < index->slot_count; i++) {
			struct index_slot *slot = &index->slots[i];
			uint32_t next = is_live(slot) ? numbers[slot->pack - 1]
						      : slot->pack;

			slot->pack = slot->pack && !next ? dropped : next;
		}
	}
	pthread_mutex_unlock(&index->lock);
	free(numbers);
}
