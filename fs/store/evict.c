/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/evict.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/collect_run.h"
#include "fs/store/counters.h"
#include "fs/store/evicted.h"
#include "fs/store/pins.h"
#include "fs/store/state.h"
#include "fs/store/usage.h"
#include "fs/store/victims.h"

enum {
	/* Longer than network file systems keep names and attributes. */
	NETWORK_GRACE = 65,
	SIGN_OF_LIFE = 1024, /* directories */
	NEVER = INT32_MAX
};

struct eviction {
	struct store *store;
	const struct evict_options *options;
	struct evict_result *result;
	struct collect_run run;
	struct collect_options collect;
	struct collect_result collected;
	struct usage *usage;
	struct pins pins;
	struct victims victims;
	size_t walked;
};

static uint64_t free_bytes(const struct store *store)
{
	struct statvfs fs;

	if (fstatvfs(store->root, &fs) < 0)
		return UINT64_MAX;
	return (uint64_t)fs.f_bavail * fs.f_frsize;
}

/* How many bytes too many there are; 0 when it is enough. */
static int look(struct eviction *e, uint64_t *excess)
{
	uint64_t space = e->options->free ? free_bytes(e->store) : 0;
	uint64_t less = 0;
	int err = usage_look(e->store, e->usage, &e->result->bytes);

	*excess = 0;
	if (e->result->bytes > e->options->bytes)
		*excess = e->result->bytes - e->options->bytes;
	if (space < e->options->free)
		less = e->options->free - space;
	if (less > *excess)
		*excess = less;
	e->result->enough = !err && !*excess;
	return err;
}

/*
 * In a shared store only root, and who owns the store, can delete the packs of
 * others, so nobody else gains anything from their directories.
 */
static bool is_ours(const struct store *store, int dir)
{
	uid_t uid = geteuid();
	struct stat st;

	return !store_is_shared(store) || uid == 0 || uid == store->owner ||
	       (fd_stat(dir, &st) == 0 && st.st_uid == uid);
}

static bool fits(void *context, int dir, const char *place)
{
	struct eviction *e = context;

	return is_ours(e->store, dir) && !pins_keep(&e->pins, place) &&
	       !evicted_is_in_use(dir);
}

static bool goes_on(void *context)
{
	struct eviction *e = context;

	if (++e->walked % SIGN_OF_LIFE == 0 && collect_goes_on(&e->run))
		return false;
	return !e->options->progress ||
	       e->options->progress(e->options->context, e->collected.files);
}

/* A deleted file goes for good, and the directories that stood for its path. */
static int forget(struct leaving *leaving, const struct victim *victim)
{
	int trash = leaving->store->trash;
	char path[PATH_MAX];
	char *end;

	if ((size_t)snprintf(path, sizeof(path), "refs/%s", victim->path) >=
	    sizeof(path))
		return 0;
	gain_add(leaving->store, &leaving->gain, trash, path);
	if (unlinkat(trash, path, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	leaving->files++;
	while ((end = strrchr(path, '/'))) {
		*end = '\0';
		if (unlinkat(trash, path, AT_REMOVEDIR) < 0)
			break;
	}
	return 0;
}

/* Somebody may have pinned it since the walk. */
static int take_leaf(struct eviction *e, struct leaving *leaving,
		     const struct victim *victim)
{
	int err = pins_load(e->store, &e->pins);

	if (err || pins_keep(&e->pins, victim->path))
		return err;
	return evicted_take(leaving, victim);
}

/* The oldest first, until what they need makes up for the excess. */
static int take_some(struct eviction *e, struct leaving *leaving, bool leaves,
		     uint64_t excess)
{
	int err = 0;

	victims_sort(&e->victims);
	for (size_t i = 0;
	     i < e->victims.count && !err && leaving->gain.bytes < excess;
	     i++) {
		err = collect_goes_on(&e->run);
		if (err)
			break;
		err = leaves ? take_leaf(e, leaving, &e->victims.list[i])
			     : forget(leaving, &e->victims.list[i]);
	}
	return err;
}

static int take_leaves(struct eviction *e, uint64_t excess, bool *any)
{
	struct leaving leaving = { .store = e->store };
	int err = pins_load(e->store, &e->pins);

	if (!err)
		err = victims_find_leaves(e->store, &e->victims);
	if (!err)
		err = take_some(e, &leaving, true, excess);
	victims_free(&e->victims);
	*any = leaving.directories;
	e->result->directories += leaving.directories;
	e->result->files += leaving.files;
	store_count(e->store, COUNTER_EVICTED, leaving.files);
	gain_free(&leaving.gain);
	return err;
}

static int take_deleted(struct eviction *e, uint64_t excess, bool *any)
{
	struct leaving leaving = { .store = e->store };
	int err = victims_find_deleted(e->store, &e->victims);

	if (!err)
		err = take_some(e, &leaving, false, excess);
	victims_free(&e->victims);
	*any = leaving.files;
	e->result->expired_files += leaving.files;
	gain_free(&leaving.gain);
	return err;
}

/* What was set aside just now cannot go before the grace period is over. */
static int wait_for_grace(struct eviction *e)
{
	int err = 0;

	for (int64_t i = 0; i <= e->collect.grace && !err; i++) {
		sleep(1);
		err = goes_on(e) ? collect_goes_on(&e->run) : -ECANCELED;
	}
	return err;
}

static int collect(struct eviction *e)
{
	int err;

	e->collected.set_aside_packs = 0;
	err = collect_packs(&e->run);
	if (!err && e->collect.grace && e->collected.set_aside_packs) {
		err = wait_for_grace(e);
		if (!err)
			err = collect_packs(&e->run);
	}
	return err;
}

static int evict(struct eviction *e)
{
	uint64_t excess = 0;
	bool any = true;
	int err = collect(e);

	if (!err)
		err = look(e, &excess);
	while (!err && excess && any) {
		err = take_deleted(e, excess, &any);
		if (!err && !any)
			err = take_leaves(e, excess, &any);
		if (!err && any)
			err = collect(e);
		if (!err)
			err = look(e, &excess);
	}
	return err;
}

/* What a killed evictor has left goes first. */
static int clear_left(struct eviction *e)
{
	struct leaving leaving = { .store = e->store };
	int err = evicted_go_on(&leaving);

	e->result->files += leaving.files;
	store_count(e->store, COUNTER_EVICTED, leaving.files);
	gain_free(&leaving.gain);
	return err;
}

static int run(struct eviction *e)
{
	int err = collect_begin(&e->run);

	if (err)
		return err;
	err = clear_left(e);
	if (!err)
		err = evict(e);
	collect_end(&e->run);
	pins_free(&e->pins);
	return err;
}

int store_evict(struct store *store, const struct evict_options *options,
		struct evict_result *result)
{
	AUTO_FREE struct eviction *e = calloc(1, sizeof(*e));
	AUTO_FREE struct usage *usage = calloc(1, sizeof(*usage));
	int err;

	*result = (struct evict_result){ 0 };
	if (!e || !usage)
		return -ENOMEM;
	e->store = store;
	e->options = options;
	e->result = result;
	e->usage = usage;
	e->victims.fits = fits;
	e->victims.progress = goes_on;
	e->victims.context = e;
	e->collect = (struct collect_options){
		.grace = store->keeps_names ? NETWORK_GRACE : 0,
		.keep = NEVER,
		.intents = COLLECT_INTENT_SECONDS,
		.progress = options->progress,
		.context = options->context,
	};
	e->run = (struct collect_run){ .store = store,
				       .options = &e->collect,
				       .result = &e->collected };
	err = run(e);
	result->deleted_packs = e->collected.deleted_packs;
	result->deleted_bytes = e->collected.deleted_bytes;
	if (err)
		snprintf(result->trouble, sizeof(result->trouble), "%s",
			 e->collected.trouble[0] ? e->collected.trouble
						 : strerror(-err));
	return err;
}
