/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/rewrite.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/store/rewrite_state.h"
#include "fs/store/state.h"

/* Of whoever may be publishing now it is not known what else he needs. */
static bool stays(const struct rewrite *r, const struct stat *st)
{
	const struct timespec *begun = &r->options->begun;

	return !r->in_refs || st->st_uid != r->store->uid ||
	       st->st_nlink != 1 || st->st_ctim.tv_sec > begun->tv_sec ||
	       (st->st_ctim.tv_sec == begun->tv_sec &&
		st->st_ctim.tv_nsec >= begun->tv_nsec);
}

static int see(struct manifest_walk *walk, const struct manifest_spot *spot)
{
	struct rewrite *r = (struct rewrite *)walk;

	live_mark(&r->live, spot->m, stays(r, spot->st));
	return live_tick(&r->ticker);
}

static int look_at_manifests(struct rewrite *r)
{
	int err;

	r->walk.visit = see;
	err = manifest_walk(&r->walk, r->store->root, "intents");
	r->in_refs = true;
	if (!err)
		err = manifest_walk(&r->walk, r->store->root, "refs");
	r->in_refs = false;
	return err ? err : manifest_walk(&r->walk, r->store->trash, "refs");
}

static int replace(struct manifest_walk *walk, const struct manifest_spot *spot)
{
	struct rewrite *r = (struct rewrite *)walk;
	int err = stays(r, spot->st) ? 0 : rewrite_manifest(r, spot);

	return err ? err : live_tick(&r->ticker);
}

static int replace_manifests(struct rewrite *r)
{
	r->walk.visit = replace;
	r->in_refs = true;
	return manifest_walk(&r->walk, r->store->root, "refs");
}

static int rewrite(struct rewrite *r)
{
	int err = live_scan(r->store, r->options->before, &r->ticker, &r->live);

	if (err || !r->live.count)
		return err;
	err = look_at_manifests(r);
	if (!err)
		err = rewrite_packs(r);
	if (err || r->options->dry_run || !r->count)
		return err;
	return replace_manifests(r);
}

int store_rewrite(struct store *store, const struct rewrite_options *options,
		  struct rewrite_result *result)
{
	struct rewrite r = { .store = store,
			     .options = options,
			     .result = result,
			     .ticker = options->ticker,
			     .room = malloc(sizeof(*r.room)) };
	int err;

	*result = (struct rewrite_result){ .packs = 0 };
	err = r.room ? rewrite(&r) : -ENOMEM;
	if (err)
		snprintf(result->trouble, sizeof(result->trouble), "%s",
			 r.walk.trouble[0] ? r.walk.trouble : strerror(-err));
	pack_draft_free(r.draft);
	live_free(&r.live);
	free(r.packs);
	free(r.made);
	free(r.room);
	return err;
}
