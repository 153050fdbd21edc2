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
#include <sys/types.h>

#include "fs/store/block_cache.h"
#include "fs/store/block_index.h"
#include "fs/store/condemned.h"
#include "fs/store/counters.h"
#include "fs/store/format.h"
#include "fs/store/leases.h"
#include "fs/store/moves.h"
#include "fs/store/pack_pool.h"
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
	uid_t uid;	  /* who we are: the publisher, and trusted */
	mode_t file_mode; /* of manifests and packs */
	mode_t dir_mode;
	bool has_journal; /* see durable.h */
	bool keeps_names; /* see fresh.h */
	bool keep_damaged;
	bool read_only;		     /* then tmp and quarantine are -1 */
	struct condemned *condemned; /* when it is read-only, else NULL */
	pthread_mutex_t names;
	struct moves moves;
	struct leases leases;
	_Atomic int64_t clock; /* nanoseconds beyond CLOCK_MONOTONIC: clock.h */
	atomic_size_t publications; /* that were begun */
	const struct log *log;
	struct pack_pool pool;
	struct block_cache cache;
	struct block_index index;
	struct counters counters;
	struct wounds wounds;
};

/* Root looks after the stores of others: with the eyes of their owner. */
void store_trust_owner(struct store *store);

/* Makes a directory of the store, unless it is there. 0 or a negative errno. */
int store_make_dir(const struct store *store, int dir, const char *name);

#endif
