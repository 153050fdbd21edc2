/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_JANITOR_H
#define TACFS_FS_MOUNT_JANITOR_H

/*
 * A thread that collects what nothing in the store needs, now and then, while
 * this mount publishes nothing, and evicts when room is nearly used up. Of all
 * the mounts of a store it is the one that is first.
 */

#include <pthread.h>
#include <stdbool.h>

#include "fs/store/store.h"

enum { JANITOR_SECONDS = 6 * 3600 /* between collections of a store */ };

struct janitor {
	struct store *store;
	unsigned seconds;
	bool runs;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool ends;
};

/*
 * Starts it, unless `seconds` is 0 (nothing is collected) and the store has no
 * bounds. Without a thread neither is done.
 */
void janitor_start(struct janitor *janitor, struct store *store,
		   unsigned seconds);
/* Ends it, in the middle of its work if need be. */
void janitor_stop(struct janitor *janitor);

#endif
