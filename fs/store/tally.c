/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/tally.h"

#include <string.h>

#include "compiler/artifact.h"
#include "fs/store/counters.h"
#include "fs/store/state.h"

void tally_named(struct store *store, const struct publication *p)
{
	store_count(store,
		    p->meta.kind == ARTIFACT_NONE ? COUNTER_PUBLISHED_PLAIN
						  : COUNTER_PUBLISHED,
		    1);
	if (wounds_heal(&store->wounds, p->dir, p->name))
		store_count(store, COUNTER_HEALED, 1);
}

void tally_published(struct store *store, const struct publication *p)
{
	tally_named(store, p);
	store_count(store, COUNTER_IN_BYTES, p->meta.size);
	if (p->meta.size <= MANIFEST_INLINE_MAX)
		store_count(store, COUNTER_ADDED_BYTES, p->meta.size);
}

/* What is not in a block of its own was there before. */
void tally_blocks(struct store *store, const struct content *content,
		  uint64_t size)
{
	const struct pack_draft *draft;
	uint64_t added = 0;
	uint64_t fresh = 0;
	uint64_t referenced = 0;

	for (draft = content->drafts; draft; draft = draft->next)
		for (size_t i = 0; i < draft->table.block_count; i++) {
			const struct pack_block *block =
				&draft->table.blocks[i];

			added += block->stored_size;
			fresh += block->id.size;
			if (block->encoding == BLOCK_LZ4_REFERENCE)
				referenced += block->id.size;
		}
	store_count(store, COUNTER_ADDED_BYTES, added);
	store_count(store, COUNTER_REFERENCE_BYTES, referenced);
	if (fresh < size)
		store_count(store, COUNTER_DEDUPLICATED_BYTES, size - fresh);
}

void tally_damaged(struct store *store, int dir, const char *name,
		   const char *kind)
{
	if (strcmp(kind, "manifest") != 0) {
		store_count(store, COUNTER_DAMAGED_PACKS, 1);
		return;
	}
	store_count(store, COUNTER_DAMAGED, 1);
	wounds_add(&store->wounds, dir, name);
}
