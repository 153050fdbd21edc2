/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/durable.h"
#include "fs/store/rewrite_state.h"
#include "fs/store/state.h"

enum {
	NEW_BLOCKS_MAX = 64 * 1024, /* unless one old pack has more */
	PERCENT = 100,
	FIRST = 16
};
static const uint64_t new_size_max = UINT64_C(64) << 20;
static const struct digest this_pack;

/* What is in a pack: stored bytes. */
struct portion {
	uint64_t live;
	uint64_t dead;
	uint32_t live_blocks;
};

static struct portion portion_of(const struct live *live,
				 const struct live_pack *pack,
				 const struct pack_table *table)
{
	struct portion share = { .live = 0 };

	for (uint32_t i = 0; i < pack->blocks; i++) {
		bool is_live = live_has(live, pack, i);

		*(is_live ? &share.live : &share.dead) +=
			table->blocks[i].stored_size;
		share.live_blocks += is_live;
	}
	return share;
}

/* What nothing needs is for the collector. */
static bool is_worth_it(const struct rewrite *r, const struct portion *share)
{
	return share->live_blocks &&
	       share->dead * PERCENT >
		       (share->live + share->dead) * r->options->percent;
}

/* Gives the draft its place, whence it can be read. */
static int place_draft(struct rewrite *r)
{
	struct pack_draft *draft = r->draft;
	struct content_pack *made = &r->made[r->made_count - 1];
	struct stat st;
	int err = pack_draft_end(draft);

	if (!err)
		err = durable_data(r->store, draft->file.fd);
	if (!err)
		err = pack_draft_place(r->store, draft, true);
	if (err)
		return err;
	if (fd_stat(draft->file.fd, &st) < 0)
		return -errno;
	made->identity = identity_of(&st);
	(void)block_index_add(&r->store->index, &draft->table);
	pack_draft_free(draft);
	r->draft = NULL;
	return 0;
}

static int new_draft(struct rewrite *r)
{
	int err;

	if (r->made_count == r->made_capacity) {
		size_t capacity = r->made_capacity * 2 + FIRST;
		struct content_pack *made =
			reallocarray(r->made, capacity, sizeof(*made));

		if (!made)
			return -ENOMEM;
		r->made = made;
		r->made_capacity = capacity;
	}
	err = pack_draft_open(r->store, &r->draft);
	if (!err)
		r->made[r->made_count++] =
			(struct content_pack){ .id = r->draft->table.id,
					       .reused = true };
	return err;
}

static int need_draft(struct rewrite *r, const struct portion *share)
{
	if (r->draft && (r->draft->end + share->live > new_size_max ||
			 r->draft->table.block_count + share->live_blocks >
				 NEW_BLOCKS_MAX)) {
		int err = place_draft(r);

		if (err)
			return err;
	}
	return r->draft ? 0 : new_draft(r);
}

/* All live blocks must be whole: -EBADMSG when one is not. */
static int verify(struct rewrite *r, const struct live_pack *pack,
		  const struct pack_table *table)
{
	for (uint32_t i = 0; i < pack->blocks; i++) {
		const struct block_want want = {
			.id = table->blocks[i].id,
			.place = { .pack = pack->id, .number = i },
		};
		int err;

		if (!live_has(&r->live, pack, i))
			continue;
		err = blocks_fetch_at(r->store, &want, &r->room->blocks,
				      r->room->raw);
		if (err)
			return err == -ENOENT ? -EBADMSG : err;
	}
	return 0;
}

/*
 * The reference of a block, in the new pack. `numbers` has those that were
 * copied before, plus one.
 */
static int copy_reference(struct rewrite *r, const struct rewrite_pack *to,
			  const struct pack_reference *old, int64_t *number,
			  int64_t *copied)
{
	struct pack_reference reference = *old;
	int err = 0;

	if (digest_equal(&old->pack, &this_pack))
		reference.number =
			to->first + live_before(&r->live, to->old, old->number);
	if (!*copied) {
		err = pack_draft_refer(r->draft, &reference, number);
		*copied = *number + 1;
	}
	*number = *copied - 1;
	return err;
}

static int copy_block(struct rewrite *r, const struct rewrite_pack *to,
		      const struct pack *pack, const struct pack_block *block,
		      int64_t *copied)
{
	const struct pack_reference *references = pack->table.references;
	uint32_t number;
	int err = pack_read(pack, block, r->room->stored);

	if (!err)
		err = pack_draft_add(r->draft, &block->id, block->encoding,
				     r->room->stored, block->stored_size,
				     &number);
	if (err || block->reference == PACK_NO_REFERENCE)
		return err;
	return copy_reference(r, to, &references[block->reference],
			      &r->draft->table.blocks[number].reference,
			      &copied[block->reference]);
}

static int copy_blocks(struct rewrite *r, const struct rewrite_pack *to,
		       const struct pack *pack)
{
	AUTO_FREE int64_t *copied =
		calloc(pack->table.reference_count + 1, sizeof(*copied));
	int err = copied ? 0 : -ENOMEM;

	for (uint32_t i = 0; !err && i < to->old->blocks; i++)
		if (live_has(&r->live, to->old, i))
			err = copy_block(r, to, pack, &pack->table.blocks[i],
					 copied);
	return err;
}

static int add_rewritten(struct rewrite *r, const struct live_pack *old)
{
	if (r->count == r->capacity) {
		size_t capacity = r->capacity * 2 + FIRST;
		struct rewrite_pack *packs =
			reallocarray(r->packs, capacity, sizeof(*packs));

		if (!packs)
			return -ENOMEM;
		r->packs = packs;
		r->capacity = capacity;
	}
	r->packs[r->count++] = (struct rewrite_pack){
		.old = old,
		.to = (uint32_t)r->made_count - 1,
		.first = (uint32_t)r->draft->table.block_count,
	};
	return 0;
}

static int copy(struct rewrite *r, const struct live_pack *old,
		const struct pack *pack, const struct portion *share)
{
	int err = verify(r, old, &pack->table);

	if (err)
		return err;
	err = need_draft(r, share);
	if (!err)
		err = add_rewritten(r, old);
	if (!err)
		err = copy_blocks(r, &r->packs[r->count - 1], pack);
	return err == -EBADMSG ? -EIO : err; /* it was whole just now */
}

static int judge(struct rewrite *r, const struct live_pack *old,
		 const struct pack *pack)
{
	struct portion share;
	int err = 0;

	if (pack->table.block_count != old->blocks)
		return 0;
	live_follow(&r->live, old, &pack->table);
	share = portion_of(&r->live, old, &pack->table);
	if (!is_worth_it(r, &share))
		return 0;
	if (!r->options->dry_run) {
		err = r->ticker.goes_on(r->ticker.context, r->ticker.files);
		if (!err)
			err = copy(r, old, pack, &share);
	}
	if (err)
		return err == -EBADMSG ? 0
				       : err; /* for who needs it, or fsck */
	r->result->packs++;
	r->result->bytes += share.dead;
	return 0;
}

static bool has_dead(const struct live *live, const struct live_pack *pack)
{
	uint32_t count = live_before(live, pack, pack->blocks);

	return count && count < pack->blocks;
}

int rewrite_packs(struct rewrite *r)
{
	int err = 0;

	for (size_t i = 0; !err && i < r->live.count; i++) {
		const struct live_pack *old = &r->live.packs[i];
		struct pack *pack;

		if (old->pinned || !has_dead(&r->live, old))
			continue;
		err = pack_pool_get(r->store, &old->id, true, &pack);
		if (err == -ENOENT || err == -ESTALE) {
			err = 0;
			continue;
		}
		if (err)
			break;
		err = judge(r, old, pack);
		pack_pool_put(r->store, pack);
	}
	return err || !r->draft ? err : place_draft(r);
}
