/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/room.h"

#include <errno.h>
#include <inttypes.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/statvfs.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/evict.h"
#include "fs/store/state.h"

enum {
	LOW_WATER = 90,	   /* per cent of max_bytes, after evicting */
	NEARLY_FULL = 95,  /* from here on it is done ahead of time */
	WAIT_SECONDS = 60, /* for somebody else who collects or evicts */
	WAIT_NSEC = 50 * 1000 * 1000,
	HOPELESS_SECONDS = 10, /* until it is tried again */
	REST_SECONDS = 60,     /* the same, ahead of time */
	LEAST_BYTES = 1024 * 1024
};

void room_init(struct room *room)
{
	*room = (struct room){ .taken = 0 };
	pthread_mutex_init(&room->lock, NULL);
}

void room_free(struct room *room)
{
	pthread_mutex_destroy(&room->lock);
}

static time_t now(void)
{
	struct timespec time = { 0 };

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

static uint64_t less(uint64_t bytes, uint64_t by)
{
	return bytes > by ? bytes - by : 0;
}

static uint64_t per_cent(uint64_t bytes, unsigned share)
{
	return bytes / 100 * share;
}

static void warn(struct store *store, const char *what, int err)
{
	char path[PATH_MAX];
	struct statvfs fs = { 0 };

	(void)fd_path(store->root, path);
	(void)fstatvfs(store->root, &fs);
	log_event(store->log, LOG_LEVEL_ERROR,
		  "no room in \"%s\": %s (errno %d; %" PRIu64
		  " MiB free in its file system)",
		  path, what, -err,
		  (uint64_t)fs.f_bavail * fs.f_frsize / LEAST_BYTES);
}

/*
 * With the lock held. Waits for others who collect: they may make the room that
 * is wanted, so that the store takes no more than `enough`.
 */
static int evict(struct store *store, const struct evict_options *options,
		 uint64_t enough, struct evict_result *result)
{
	const struct timespec pause = { .tv_nsec = WAIT_NSEC };
	time_t until = now() + WAIT_SECONDS;
	int err = store_evict(store, options, result);

	while (err == -EBUSY && now() < until) {
		nanosleep(&pause, NULL);
		err = usage_look(store, &store->room.usage, &result->bytes);
		if (!err && result->bytes > enough)
			err = store_evict(store, options, result);
	}
	if (!err && (result->directories || result->deleted_packs))
		log_event(store->log, LOG_LEVEL_INFO,
			  "evicted %zu directories with %zu files, deleted %zu "
			  "packs",
			  result->directories, result->files,
			  result->deleted_packs);
	return err;
}

/* With the lock held: whether so many bytes more are too many. */
static int is_too_much(struct store *store, uint64_t bytes, bool *too_much)
{
	uint64_t used = 0;
	int err = usage_look(store, &store->room.usage, &used);

	*too_much = less(store->max_bytes, store->room.taken + bytes) < used;
	return err;
}

/* With the lock held. Down to low water, or at least so that it fits. */
static int make_room(struct store *store, uint64_t bytes)
{
	uint64_t more = store->room.taken + bytes;
	struct evict_options options = {
		.bytes = less(per_cent(store->max_bytes, LOW_WATER), more),
	};
	struct evict_result result;
	bool too_much = true;
	int err;

	if (now() < store->room.until)
		return -ENOBUFS;
	err = evict(store, &options, less(store->max_bytes, more), &result);
	if (!err)
		err = is_too_much(store, bytes, &too_much);
	if (!err && too_much) {
		store->room.until = now() + HOPELESS_SECONDS;
		err = -ENOBUFS;
	}
	if (err)
		warn(store,
		     err == -ENOBUFS ? "max_bytes is reached, and what "
				       "is there is pinned or open"
				     : result.trouble,
		     err);
	return err == -EBUSY ? -ENOBUFS : err;
}

int room_take(struct store *store, uint64_t bytes)
{
	struct room *room = &store->room;
	bool too_much;
	int err;

	if (!store->max_bytes)
		return 0;
	if (bytes > store->max_bytes) {
		warn(store, "a file is larger than max_bytes", -EFBIG);
		return -EFBIG;
	}
	pthread_mutex_lock(&room->lock);
	err = is_too_much(store, bytes, &too_much);
	if (!err && too_much)
		err = make_room(store, bytes);
	if (!err)
		room->taken += bytes;
	pthread_mutex_unlock(&room->lock);
	return err;
}

void room_give(struct store *store, uint64_t bytes, uint64_t manifest)
{
	struct room *room = &store->room;

	if (!store->max_bytes)
		return;
	pthread_mutex_lock(&room->lock);
	room->taken -= bytes;
	atomic_fetch_add(&room->usage.published, manifest);
	pthread_mutex_unlock(&room->lock);
}

/* Whether somebody else has made room since. Quotas are not seen. */
static bool has_space(const struct store *store, int err, uint64_t bytes)
{
	struct statvfs fs;

	return err == -ENOSPC && fstatvfs(store->root, &fs) == 0 &&
	       fs.f_favail &&
	       (uint64_t)fs.f_bavail * fs.f_frsize > bytes + LEAST_BYTES;
}

/* With the lock held. A tenth at least, since the next one wants some, too. */
static int free_some(struct store *store, int err, uint64_t bytes)
{
	struct evict_options options = { 0 };
	struct evict_result result;
	uint64_t used = 0;
	int failed;

	if (now() < store->room.until)
		return err;
	failed = usage_look(store, &store->room.usage, &used);
	if (failed)
		return err;
	options.bytes = less(used, bytes > used / 10 ? bytes : used / 10);
	failed = evict(store, &options, options.bytes, &result);
	if (!failed && result.bytes < used)
		return 0;
	store->room.until = now() + HOPELESS_SECONDS;
	warn(store, failed ? result.trouble : "nothing is left to evict", err);
	return err;
}

int store_make_room(struct store *store, int err, uint64_t bytes)
{
	struct room *room = &store->room;

	if ((err != -ENOSPC && err != -EDQUOT) || store->read_only)
		return err;
	pthread_mutex_lock(&room->lock);
	if (has_space(store, err, bytes))
		err = 0;
	else
		err = free_some(store, err, bytes);
	pthread_mutex_unlock(&room->lock);
	return err;
}

bool store_is_bounded(const struct store *store)
{
	return !store->read_only &&
	       (store->max_bytes || store->min_free.bytes ||
		store->min_free.percent);
}

/* What is to be free, and whether it is not. */
static bool is_short(const struct store *store, uint64_t *free)
{
	struct statvfs fs;
	uint64_t wanted;

	*free = 0;
	if (fstatvfs(store->root, &fs) < 0)
		return false;
	wanted =
		share_of(&store->min_free, (uint64_t)fs.f_blocks * fs.f_frsize);
	*free = wanted;
	return (uint64_t)fs.f_bavail * fs.f_frsize < wanted;
}

/* With the lock held. */
static bool is_nearly_full(struct store *store)
{
	uint64_t used = 0;

	return store->max_bytes &&
	       !usage_look(store, &store->room.usage, &used) &&
	       used > per_cent(store->max_bytes, NEARLY_FULL);
}

/* Whether there is something to do, and what. */
static bool is_needed(struct store *store, struct evict_options *options)
{
	struct room *room = &store->room;
	bool needed;

	pthread_mutex_lock(&room->lock);
	needed = is_short(store, &options->free);
	if (is_nearly_full(store)) {
		options->bytes = per_cent(store->max_bytes, LOW_WATER);
		needed = true;
	}
	needed = needed && now() >= room->rests;
	room->rests = needed ? now() + REST_SECONDS : room->rests;
	pthread_mutex_unlock(&room->lock);
	return needed;
}

/* Without the lock, so that others publish as long as there is room. */
int store_keep_room(struct store *store,
		    bool (*progress)(void *context, size_t files),
		    void *context)
{
	struct evict_options options = { .bytes = UINT64_MAX,
					 .progress = progress,
					 .context = context };
	struct evict_result result;
	int err;

	if (!is_needed(store, &options))
		return 0;
	err = store_evict(store, &options, &result);
	pthread_mutex_lock(&store->room.lock);
	if (!err && result.enough)
		store->room.rests = 0;
	pthread_mutex_unlock(&store->room.lock);
	return err;
}
