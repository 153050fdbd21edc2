/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/index_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PACKS = 64, FEW = 64 };

struct index_pack {
	struct digest id;
	uint32_t seen; /* in this listing of its directory */
};

static struct index_fan *fan_of(struct block_index *index,
				const struct digest *id)
{
	return &index->fans[id->b[0]];
}

/* The slot that has the id, or the empty one where it belongs. */
static size_t slot_of(const struct block_index *index, const uint32_t *slots,
		      size_t count, const struct digest *id)
{
	size_t at;

	memcpy(&at, id->b + 8, sizeof(at));
	for (at &= count - 1; slots[at]; at = (at + 1) & (count - 1))
		if (digest_equal(&index->packs[slots[at] - 1].id, id))
			break;
	return at;
}

static void fill_slots(struct block_index *index, uint32_t *slots, size_t count)
{
	for (size_t i = 0; i < index->pack_count; i++)
		slots[slot_of(index, slots, count, &index->packs[i].id)] =
			(uint32_t)i + 1;
}

/* Twice as many slots as packs at most, so that a search ends soon. */
static int grow(struct block_index *index)
{
	size_t capacity =
		index->pack_capacity ? index->pack_capacity * 2 : FIRST_PACKS;
	uint32_t *slots = calloc(capacity * 2, sizeof(*slots));
	struct index_pack *packs;

	if (!slots || capacity >= UINT32_MAX) {
		free(slots);
		return -ENOMEM;
	}
	packs = realloc(index->packs, capacity * sizeof(*packs));
	if (!packs) {
		free(slots);
		return -ENOMEM;
	}
	index->packs = packs;
	index->pack_capacity = capacity;
	fill_slots(index, slots, capacity * 2);
	free(index->pack_slots);
	index->pack_slots = slots;
	index->pack_slot_count = capacity * 2;
	return 0;
}

/* Its number and 1; 0 when it is not known. */
static uint32_t find(const struct block_index *index, const struct digest *id)
{
	size_t count = index->pack_slot_count;

	return count ? index->pack_slots[slot_of(index, index->pack_slots,
						 count, id)]
		     : 0;
}

/* It counts for the listing that is under way, or for the next. */
static void note_seen(struct block_index *index, struct index_pack *pack)
{
	pack->seen = fan_of(index, &pack->id)->listings + 1;
}

int index_packs_add(struct block_index *index, const struct digest *id,
		    uint32_t *number)
{
	size_t at;
	int err;

	if (find(index, id))
		return -EEXIST;
	if (index->pack_count == index->pack_capacity) {
		err = grow(index);
		if (err)
			return err;
	}
	at = slot_of(index, index->pack_slots, index->pack_slot_count, id);
	*number = (uint32_t)index->pack_count;
	index->packs[index->pack_count].id = *id;
	note_seen(index, &index->packs[index->pack_count++]);
	fan_of(index, id)->packs++;
	index->pack_slots[at] = *number + 1;
	return 0;
}

struct digest index_packs_id(const struct block_index *index, uint32_t number)
{
	return index->packs[number].id;
}

bool index_packs_see(struct block_index *index, const struct digest *id)
{
	uint32_t found = find(index, id);

	if (found)
		note_seen(index, &index->packs[found - 1]);
	return found;
}

void index_packs_listed(struct block_index *index, unsigned fan, size_t seen)
{
	struct index_fan *listed = &index->fans[fan];

	listed->listings++;
	listed->missing = listed->packs > seen ? listed->packs - seen : 0;
}

bool index_packs_are_stale(const struct block_index *index)
{
	size_t missing = 0;

	for (size_t i = 0; i < INDEX_FANS; i++)
		missing += index->fans[i].missing;
	return missing > FEW && missing > index->pack_count / 4;
}

void index_packs_forget(struct block_index *index, uint32_t *numbers)
{
	size_t kept = 0;

	for (size_t i = 0; i < index->pack_count; i++) {
		struct index_fan *fan = fan_of(index, &index->packs[i].id);
		bool gone = index->packs[i].seen < fan->listings;

		numbers[i] = gone ? 0 : (uint32_t)kept + 1;
		if (gone)
			fan->packs--;
		else
			index->packs[kept++] = index->packs[i];
	}
	index->pack_count = kept;
	memset(index->pack_slots, 0,
	       index->pack_slot_count * sizeof(*index->pack_slots));
	fill_slots(index, index->pack_slots, index->pack_slot_count);
	for (size_t i = 0; i < INDEX_FANS; i++)
		index->fans[i].missing = 0;
}
