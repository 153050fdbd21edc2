/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/own.h"
#include "fs/store/publish_manifest.h"
#include "fs/store/rewrite_state.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* A manifest for the same content in other packs. */
struct fitted {
	struct manifest m;
	struct content content; /* the new packs in it: to be looked for */
	const struct rewrite_pack **from; /* by old pack; NULL: it stays */
	uint32_t *to;			  /* by old pack: which of m.packs */
};

static int by_id(const void *key, const void *element)
{
	const struct rewrite_pack *pack = element;

	return memcmp(((const struct digest *)key)->b, pack->old->id.b,
		      DIGEST_SIZE);
}

static const struct rewrite_pack *find(const struct rewrite *r,
				       const struct digest *id)
{
	return bsearch(id, r->packs, r->count, sizeof(*r->packs), by_id);
}

static bool needs_another(const struct rewrite *r, const struct manifest *m)
{
	for (size_t i = 0; i < m->pack_count; i++)
		if (find(r, &m->packs[i]))
			return true;
	return false;
}

static void free_fitted(struct fitted *f)
{
	content_free(&f->content);
	free(f->m.packs);
	free(f->m.blocks);
	free(f->from);
	free(f->to);
}

static int make_room(struct fitted *f, const struct manifest *old)
{
	f->m = *old;
	f->m.pack_count = 0;
	f->m.packs = calloc(old->pack_count, sizeof(*f->m.packs));
	f->m.blocks = calloc(old->block_count, sizeof(*f->m.blocks));
	f->content.packs = calloc(old->pack_count, sizeof(*f->content.packs));
	f->from = calloc(old->pack_count, sizeof(*f->from));
	f->to = calloc(old->pack_count, sizeof(*f->to));
	return f->m.packs && f->m.blocks && f->content.packs && f->from && f->to
		       ? 0
		       : -ENOMEM;
}

/* Several old packs may have gone into one. */
static uint32_t pack_number(struct fitted *f, const struct digest *id,
			    bool *is_new)
{
	size_t i = 0;

	while (i < f->m.pack_count && !digest_equal(&f->m.packs[i], id))
		i++;
	*is_new = i == f->m.pack_count;
	if (*is_new)
		f->m.packs[f->m.pack_count++] = *id;
	return (uint32_t)i;
}

static void fit_packs(const struct rewrite *r, const struct manifest *old,
		      struct fitted *f)
{
	for (size_t i = 0; i < old->pack_count; i++) {
		const struct rewrite_pack *from = find(r, &old->packs[i]);
		const struct content_pack *made =
			from ? &r->made[from->to] : NULL;
		bool is_new;

		f->from[i] = from;
		f->to[i] = pack_number(f, made ? &made->id : &old->packs[i],
				       &is_new);
		if (made && is_new)
			f->content.packs[f->content.pack_count++] = *made;
	}
}

/* What else is at its place is not what was copied. */
static int check_place(struct store *store, const struct manifest *m,
		       const struct manifest_block *block)
{
	const struct pack_table *table;
	struct pack *pack;
	int err = pack_pool_get(store, &m->packs[block->pack], false, &pack);

	if (err)
		return err;
	table = &pack->table;
	if (block->number >= table->block_count ||
	    !block_id_equal(&table->blocks[block->number].id, &block->id))
		err = -EAGAIN;
	pack_pool_put(store, pack);
	return err;
}

/* -EAGAIN when a block was not copied. */
static int fit_block(const struct rewrite *r, const struct manifest_block *old,
		     struct fitted *f, size_t number)
{
	const struct rewrite_pack *from = f->from[old->pack];
	struct manifest_block *block = &f->m.blocks[number];

	*block = *old;
	block->pack = f->to[old->pack];
	if (!from)
		return 0;
	if (old->number >= from->old->blocks ||
	    !live_has(&r->live, from->old, old->number))
		return -EAGAIN;
	block->number =
		from->first + live_before(&r->live, from->old, old->number);
	return check_place(r->store, &f->m, block);
}

static int fit(const struct rewrite *r, const struct manifest *old,
	       struct fitted *f)
{
	int err = make_room(f, old);

	if (!err)
		fit_packs(r, old, f);
	for (size_t i = 0; !err && i < old->block_count; i++)
		err = fit_block(r, &old->blocks[i], f, i);
	return err;
}

static int replace(struct rewrite *r, const struct manifest_spot *spot,
		   struct version *old)
{
	struct fitted f = { .from = NULL };
	struct publication p = { .dir = spot->dir,
				 .name = spot->name,
				 .content = -1,
				 .replaces = old,
				 .keeps = true,
				 .by_collector = true };
	struct version *next = NULL;
	int err = fit(r, &old->manifest, &f);

	if (!err)
		err = publish_manifest(r->store, &p, &f.content, &f.m, &next);
	free_fitted(&f);
	version_put(next);
	return err;
}

/* Else it is another by now, of which nothing was looked at. */
static bool is_what_was_seen(const struct version *v,
			     const struct manifest_spot *spot)
{
	struct timespec changed = version_changed(v);

	return changed.tv_sec == spot->st->st_ctim.tv_sec &&
	       changed.tv_nsec == spot->st->st_ctim.tv_nsec;
}

/* What has changed meanwhile, or cannot be changed, keeps what it has. */
static bool may_be_left(int err)
{
	switch (err) {
	case -EAGAIN:
	case -ENOENT:
	case -ESTALE:
	case -EACCES:
	case -EPERM:
		return true;
	default:
		return false;
	}
}

int rewrite_manifest(struct rewrite *r, const struct manifest_spot *spot)
{
	struct version *old;
	int err;

	if (!needs_another(r, spot->m))
		return 0;
	err = version_load(r->store, spot->dir, spot->name, &old);
	if (err)
		return err == -ENOENT || err == -EISDIR || err == -ELOOP ||
				       err == -ENXIO
			       ? 0
			       : err;
	err = is_what_was_seen(old, spot) ? replace(r, spot, old) : 0;
	version_put(old);
	return may_be_left(err) ? 0 : err;
}
