/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_STATE_H
#define TACFS_FS_STORE_STATE_H

/*
 * What an open store is made of. For the files of fs/store only.
 *
 * The descriptors, the format and the modes do not change after store_open().
 * The pool, the cache and the index each have a lock of their own, which guards
 * nothing outside them and under which no other lock is taken; see there. So
 * has the changing of names (store_names_lock()).
 */

#include <pthread.h>
#include <stdatomic.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>

#include "fs/store/block_cache.h"
#include "fs/store/block_index.h"
#include "fs/store/condemned.h"
#include "fs/store/counters.h"
#include "fs/store/exchange_note.h"
#include "fs/store/format.h"
#include "fs/store/leases.h"
#include "fs/store/moves.h"
#include "fs/store/pack_pool.h"
#include "fs/store/reason.h"
#include "fs/store/room.h"
#include "fs/store/store.h"
#include "fs/store/wounds.h"

struct store {
	int root;
	int space;	/* refs/<namespace> */
	char name[256]; /* of the namespace */
	int refs;
	int packs;
	int tmp;
	int quarantine;
	int intents;
	int trash;
	struct format format;
	bool keep_damaged;
	bool read_only;		     /* then tmp and quarantine are -1 */
	struct condemned *condemned; /* when it is read-only, else NULL */
	uid_t uid;	/* who we are: the publisher, and trusted */
	uid_t *trusted; /* whom we were told to trust */
	size_t trusted_count;
	uid_t owner;	    /* of the store's directory */
	mode_t file_mode;   /* of manifests and packs */
	mode_t dir_mode;    /* of the store's own directories */
	mode_t space_mode;  /* of the namespace */
	uint64_t max_bytes; /* 0: no limit */
	bool has_journal;   /* see durable.h */
	bool keeps_names;   /* see fresh.h */
	pthread_mutex_t names;
	struct moves moves;
	struct exchange_file exchanges; /* under the lock of names */
	struct leases leases;
	_Atomic int64_t clock; /* nanoseconds beyond CLOCK_MONOTONIC: clock.h */
	atomic_size_t publications; /* that were begun */
	struct share min_free;
	const struct log *log;
	struct pack_pool pool;
	struct block_cache cache;
	struct block_index index;
	struct counters counters;
	struct wounds wounds;
	struct room room;
};

/* Root looks after the stores of others: with the eyes of their owner. */
void store_trust_owner(struct store *store);

/* Whether several users write, who need not trust each other. */
static inline bool store_is_shared(const struct store *store)
{
	return store->format.features & FORMAT_SHARED;
}

/* Whether whoever publishes to it knows that packs may be deleted. */
static inline bool store_can_collect(const struct store *store)
{
	return store->format.features & FORMAT_COLLECT;
}

/*
 * Whether packs and manifests that are used may be of several users. One may
 * then spoil what another has published with blocks of its own, since seeds and
 * checks are no secrets.
 */
static inline bool store_is_mixed(const struct store *store)
{
	return store_is_shared(store) || store->trusted_count;
}

/*
 * Whether somebody who is trusted answers for what is in the file: its owner,
 * and nobody else can write to it.
 */
bool store_vouches(const struct store *store, const struct stat *st);

/* Makes a directory of the store, unless it is there. 0 or a negative errno. */
int store_make_dir(const struct store *store, int dir, const char *name);

/* Likewise, with the modes of directories below the namespace. */
int store_make_space_dir(const struct store *store, int dir, const char *name);

#endif
