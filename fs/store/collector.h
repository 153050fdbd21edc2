/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_COLLECTOR_H
#define TACFS_FS_STORE_COLLECTOR_H

/*
 * The announcement that a collector is under way: a file in intents/, which
 * those who move manifests look for. One collector works at a time; one that
 * has lost its announcement deletes nothing any more.
 */

#include <stdint.h>

#include "fs/store/store.h"

#define COLLECTOR_NAME "collecting"

enum {
	COLLECTOR_ID_SIZE = 17,
	COLLECTOR_STALE_SECONDS = 600 /* without a sign of life */
};

struct collector {
	struct store *store;
	int fd;
	char id[COLLECTOR_ID_SIZE];
};

/*
 * Announces. Returns 0; -EBUSY when there is another, which is not known to
 * have died and gave a sign of life within the last `patience` seconds; other
 * errnos.
 */
int collector_begin(struct store *store, int64_t patience,
		    struct collector *collector);
/* Gives a sign of life. Returns 0; -ESTALE when the announcement is gone. */
int collector_goes_on(const struct collector *collector);
void collector_end(struct collector *collector);

#endif
