/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_LEASES_H
#define TACFS_FS_STORE_LEASES_H

/*
 * On a network file system a pack that another host deletes is gone also for
 * who has it open. So the manifest of a version that is open for long lies in
 * intents/, where collectors find it, and is touched from time to time.
 */

#include <pthread.h>
#include <time.h>

#include "fs/fd.h"
#include "fs/store/store.h"

struct version;

enum { LEASE_SECONDS = 600 }; /* see COLLECT_INTENT_SECONDS */

/* Of a version that is held. */
struct lease {
	struct lease *older;
	struct lease *newer;
	const struct version *v;
	time_t since;		       /* it was begun, or renewed */
	char name[FD_DRAFT_NAME_SIZE]; /* in intents/; or empty */
};

struct leases {
	pthread_mutex_t lock; /* nothing is taken under it */
	struct lease *newest;
};

void leases_init(struct leases *leases);
void leases_free(struct leases *leases);

/* Begins a lease; does nothing where files that are open stay. */
void lease_begin(struct store *store, struct lease *lease,
		 const struct version *v);
void lease_end(struct store *store, struct lease *lease);

/* Renews those that were not for so many seconds. To be called often. */
void leases_renew(struct store *store, unsigned seconds);

#endif
