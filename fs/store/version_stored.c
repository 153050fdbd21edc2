/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>

#include "fs/own.h"
#include "fs/store/blocks.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* A block that is looked for. What it refers to is seen before it. */
struct weighing {
	struct block_witness witness; /* first: it is what others see of it */
	struct block_room room;
	struct block_want want;
	uint64_t stored;
};

static const struct pack_block *find(const struct pack_table *table,
				     const struct block_want *want)
{
	size_t number = want->place.number;

	if (number < table->block_count &&
	    block_id_equal(&table->blocks[number].id, &want->id))
		return &table->blocks[number];
	for (size_t i = 0; i < table->block_count; i++)
		if (block_id_equal(&table->blocks[i].id, &want->id))
			return &table->blocks[i];
	return NULL;
}

static int weigh(struct block_witness *witness, const struct pack *pack,
		 bool settled)
{
	struct weighing *w = (struct weighing *)witness;
	const struct pack_block *block = find(&pack->table, &w->want);

	(void)settled;
	if (block)
		w->stored = block->stored_size;
	return 0;
}

static int by_place(const void *key, const void *element)
{
	const struct manifest_block *const *a = key;
	const struct manifest_block *const *b = element;

	if ((*a)->pack != (*b)->pack)
		return (*a)->pack < (*b)->pack ? -1 : 1;
	return ((*a)->number > (*b)->number) - ((*a)->number < (*b)->number);
}

/* Blocks of one place stand together then. NULL without memory. */
static const struct manifest_block **sorted(const struct manifest *m)
{
	const struct manifest_block **blocks =
		calloc(m->block_count + 1, sizeof(*blocks));

	if (!blocks)
		return NULL;
	for (size_t i = 0; i < m->block_count; i++)
		blocks[i] = &m->blocks[i];
	qsort(blocks, m->block_count, sizeof(*blocks), by_place);
	return blocks;
}

int version_stored(struct store *store, const struct version *v,
		   uint64_t *bytes)
{
	const struct manifest *m = &v->manifest;
	AUTO_FREE const struct manifest_block **blocks = sorted(m);
	AUTO_FREE struct weighing *w = calloc(1, sizeof(*w));
	uint64_t sum = m->content ? m->meta.size : 0;

	if (!blocks || !w)
		return -ENOMEM;
	w->witness = (struct block_witness){ .unread = true, .saw = weigh };
	for (size_t i = 0; i < m->block_count; i++) {
		int err;

		if (i && by_place(&blocks[i - 1], &blocks[i]) == 0)
			continue;
		w->want.id = blocks[i]->id;
		w->want.place.pack = m->packs[blocks[i]->pack];
		w->want.place.number = blocks[i]->number;
		err = blocks_verify(store, &w->want, &w->room, &w->witness);
		if (err)
			return err;
		sum += w->stored;
	}
	*bytes = sum;
	return 0;
}
