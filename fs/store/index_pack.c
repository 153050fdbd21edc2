/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/index_pack.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_PACKS = 64 };

struct index_pack {
	struct digest id;
};

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
	for (size_t i = 0; i < index->pack_count; i++)
		slots[slot_of(index, slots, capacity * 2, &packs[i].id)] =
			(uint32_t)i + 1;
	free(index->pack_slots);
	index->pack_slots = slots;
	index->pack_slot_count = capacity * 2;
	return 0;
}

bool index_packs_has(const struct block_index *index, const struct digest *id)
{
	size_t count = index->pack_slot_count;

	return count &&
	       index->pack_slots[slot_of(index, index->pack_slots, count, id)];
}

int index_packs_add(struct block_index *index, const struct digest *id,
		    uint32_t *number)
{
	size_t at;
	int err;

	if (index_packs_has(index, id))
		return -EEXIST;
	if (index->pack_count == index->pack_capacity) {
		err = grow(index);
		if (err)
			return err;
	}
	at = slot_of(index, index->pack_slots, index->pack_slot_count, id);
	*number = (uint32_t)index->pack_count;
	index->packs[index->pack_count++].id = *id;
	index->pack_slots[at] = *number + 1;
	return 0;
}

struct digest index_packs_id(const struct block_index *index, uint32_t number)
{
	return index->packs[number].id;
}
