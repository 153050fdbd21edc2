/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pack_set.h"

#include <assert.h>
#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 256 };

struct pack_mark {
	struct digest id;
	uint8_t marks; /* 0 for a place that is free */
};
static_assert(sizeof(struct pack_mark) == 17, "a mark takes 17 bytes");

void pack_set_free(struct pack_set *set)
{
	free(set->places);
	*set = (struct pack_set){ .places = NULL };
}

/* Ids are random, so any of their bits will do. */
static size_t place_of(const struct pack_set *set, const struct digest *id)
{
	uint64_t hash;
	size_t at;

	memcpy(&hash, id->b, sizeof(hash));
	at = (size_t)hash & (set->size - 1);
	while (set->places[at].marks && !digest_equal(&set->places[at].id, id))
		at = (at + 1) & (set->size - 1);
	return at;
}

static int grow(struct pack_set *set)
{
	struct pack_set larger = {
		.size = set->size ? set->size * 2 : FIRST_SIZE,
		.count = set->count,
	};

	larger.places = calloc(larger.size, sizeof(*larger.places));
	if (!larger.places)
		return -ENOMEM;
	for (size_t i = 0; i < set->size; i++)
		if (set->places[i].marks)
			larger.places[place_of(&larger, &set->places[i].id)] =
				set->places[i];
	free(set->places);
	*set = larger;
	return 0;
}

int pack_set_mark(struct pack_set *set, const struct digest *id, uint8_t marks)
{
	size_t at;

	if (set->count >= set->size / 4 * 3 && grow(set))
		return -ENOMEM;
	at = place_of(set, id);
	if (!set->places[at].marks) {
		set->places[at].id = *id;
		set->count++;
	}
	set->places[at].marks |= marks;
	return 0;
}

uint8_t pack_set_marks(const struct pack_set *set, const struct digest *id)
{
	return set->size ? set->places[place_of(set, id)].marks : 0;
}

uint64_t pack_set_count(const struct pack_set *set, uint8_t mask, uint8_t marks)
{
	uint64_t count = 0;

	for (size_t i = 0; i < set->size; i++)
		if (set->places[i].marks &&
		    (set->places[i].marks & mask) == marks)
			count++;
	return count;
}
