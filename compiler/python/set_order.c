/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/set_order.h"

#include <errno.h>
#include <stdbool.h>
#include <string.h>

#include "compiler/memory.h"

enum {
	FIRST_SIZE = 8,
	LINEAR_PROBES = 9,
	PERTURB_SHIFT = 5,
	LARGE_SET = 50000,
	PROBES_PER_ITEM = 64, /* more is a collision made on purpose */
	PROBES_FREE = 1 << 16
};

struct table {
	const struct value **slots;
	size_t size; /* a power of two */
	size_t used;
	size_t probes_left;
	struct arena *scratch;
};

static bool has_fixed_order(const struct value *set, unsigned minor)
{
	for (size_t i = 0; i < set->items.count; i++)
		if (set->items.at[i]->hash_since > minor)
			return false;
	return true;
}

/* Of values with one hash; distinct tuples with one hash are not compared. */
static bool is_equal(const struct value *a, const struct value *b)
{
	if (a == b)
		return true;
	return a->hash == b->hash && a->type == VALUE_ATOM &&
	       b->type == VALUE_ATOM && a->text.size == b->text.size &&
	       memcmp(a->text.bytes, b->text.bytes, a->text.size) == 0;
}

/* The slot for a value: empty, or of an equal one; NULL after many probes. */
static const struct value **find_slot(struct table *t,
				      const struct value *value)
{
	size_t mask = t->size - 1;
	size_t index = value->hash & mask;
	uint64_t perturb = value->hash;

	for (;;) {
		size_t probes =
			index + LINEAR_PROBES <= mask ? LINEAR_PROBES : 0;

		for (size_t i = index; i <= index + probes; i++) {
			if (!t->slots[i] || is_equal(t->slots[i], value))
				return &t->slots[i];
			if (!t->probes_left--)
				return NULL;
		}
		perturb >>= PERTURB_SHIFT;
		index = (index * 5 + 1 + perturb) & mask;
	}
}

static int insert(struct table *t, const struct value *value)
{
	const struct value **slot = find_slot(t, value);

	if (!slot)
		return -E2BIG;
	if (!*slot) {
		*slot = value;
		t->used++;
	}
	return 0;
}

static int resize(struct table *t)
{
	struct table larger = *t;
	size_t least = t->used > LARGE_SET ? t->used * 2 : t->used * 4;
	int err = 0;

	for (larger.size = FIRST_SIZE; larger.size <= least;)
		larger.size *= 2;
	larger.used = 0;
	larger.slots = memory_take(t->scratch, larger.size, ITEM_SIZE, &err);
	if (!larger.slots)
		return err;
	for (size_t i = 0; i < t->size && !err; i++)
		if (t->slots[i])
			err = insert(&larger, t->slots[i]);
	*t = larger;
	return err;
}

static int insert_all(struct table *t, const struct items *items)
{
	int err = 0;

	for (size_t i = 0; i < items->count && !err; i++) {
		size_t used = t->used;

		err = insert(t, items->at[i]);
		if (!err && t->used > used && t->used * 5 >= (t->size - 1) * 3)
			err = resize(t);
	}
	return err;
}

int set_order(struct value *set, unsigned minor, struct arena *scratch)
{
	struct table t = {
		.size = FIRST_SIZE,
		.probes_left = PROBES_FREE + set->items.count * PROBES_PER_ITEM,
		.scratch = scratch,
	};
	int err = 0;

	if (set->items.count < 2 || !has_fixed_order(set, minor))
		return 0;
	t.slots = memory_take(scratch, t.size, ITEM_SIZE, &err);
	if (!t.slots)
		return err;
	err = insert_all(&t, &set->items);
	if (err)
		return err;
	set->items.count = 0;
	for (size_t i = 0; i < t.size; i++)
		if (t.slots[i])
			set->items.at[set->items.count++] = t.slots[i];
	return 0;
}
