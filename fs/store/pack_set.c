/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/pack_set.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

enum { FIRST_SIZE = 1024 };

static const struct digest none;

void pack_set_free(struct pack_set *set)
{
	free(set->slots);
	*set = (struct pack_set){ 0 };
}

/* Ids are random; somebody who makes them up makes it slow, not wrong. */
static struct digest *find(const struct pack_set *set, const struct digest *id)
{
	size_t at;

	memcpy(&at, id->b, sizeof(at));
	for (at &= set->size - 1; !digest_equal(&set->slots[at], &none);
	     at = (at + 1) & (set->size - 1))
		if (digest_equal(&set->slots[at], id))
			break;
	return &set->slots[at];
}

static int grow(struct pack_set *set)
{
	struct pack_set larger = {
		.size = set->size ? set->size * 2 : FIRST_SIZE,
		.count = set->count,
	};

	larger.slots = calloc(larger.size, sizeof(*larger.slots));
	if (!larger.slots)
		return -ENOMEM;
	for (size_t i = 0; i < set->size; i++)
		if (!digest_equal(&set->slots[i], &none))
			*find(&larger, &set->slots[i]) = set->slots[i];
	free(set->slots);
	*set = larger;
	return 0;
}

int pack_set_add(struct pack_set *set, const struct digest *id)
{
	struct digest *slot;
	int err = 2 * set->count >= set->size ? grow(set) : 0;

	if (err)
		return err;
	slot = find(set, id);
	if (digest_equal(slot, &none) && !digest_equal(id, &none)) {
		*slot = *id;
		set->count++;
	}
	return 0;
}

bool pack_set_has(const struct pack_set *set, const struct digest *id)
{
	return set->size && !digest_equal(id, &none) &&
	       digest_equal(find(set, id), id);
}
