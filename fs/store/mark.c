/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/mark.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/store/clock.h"
#include "fs/store/moves.h"
#include "fs/store/state.h"

enum { ATTEMPTS = 100, PAUSE_NSEC = 20 * 1000 * 1000 };

/* What anybody has published counts, trusted or not: it is theirs. */
static int add_packs(struct manifest_walk *walk,
		     const struct manifest_spot *spot)
{
	struct mark *mark = (struct mark *)walk;
	int err = 0;

	for (size_t i = 0; !err && i < spot->m->pack_count; i++)
		err = pack_set_mark(&mark->packs, &spot->m->packs[i],
				    PACK_IS_USED);
	if (err)
		return err;
	mark->files++;
	mark->bytes += (uint64_t)spot->st->st_size;
	return mark->progress(mark->context, mark->files) ? 0 : -ECANCELED;
}

/*
 * In this order: what is being published leaves intents/ for refs/, what is
 * deleted or evicted leaves refs/ for trash/. What was moved otherwise
 * meanwhile has left a link in intents/, perhaps only after these were read.
 * Moves without a link are told of by moves_look().
 */
static int mark_all(struct store *store, struct mark *mark)
{
	int err = clock_ask(store, &mark->begun);

	mark->walk.visit = add_packs;
	pack_set_free(&mark->packs);
	mark->files = 0;
	mark->bytes = 0;
	if (!err)
		err = manifest_walk(&mark->walk, store->root, "intents");
	if (!err)
		err = manifest_walk(&mark->walk, store->root, "refs");
	if (!err)
		err = manifest_walk(&mark->walk, store->trash, "evicted");
	if (!err)
		err = manifest_walk(&mark->walk, store->trash, "refs");
	return err ? err : manifest_walk(&mark->walk, store->root, "intents");
}

static int attempt(struct store *store, struct mark *mark)
{
	struct moves_state before, after;
	int err = moves_look(store, &before);

	if (err || before.under_way)
		return err ? err : -EAGAIN;
	err = mark_all(store, mark);
	if (err == -ESTALE) /* another host has removed a directory */
		err = -EAGAIN;
	if (!err)
		err = moves_look(store, &after);
	if (!err && (after.under_way || after.digest != before.digest))
		err = -EAGAIN;
	return err;
}

int mark_packs(struct store *store, struct mark *mark)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NSEC };
	int err = attempt(store, mark);

	for (int i = 1; err == -EAGAIN && i < ATTEMPTS; i++) {
		nanosleep(&pause, NULL);
		err = attempt(store, mark);
	}
	if (err == -EAGAIN)
		snprintf(mark->walk.trouble, sizeof(mark->walk.trouble),
			 "names are being moved or removed all the time");
	else if (err && !mark->walk.trouble[0])
		snprintf(mark->walk.trouble, sizeof(mark->walk.trouble), "%s",
			 strerror(-err));
	return err;
}

void mark_free(struct mark *mark)
{
	pack_set_free(&mark->packs);
}
