/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_ROOM_H
#define TACFS_FS_STORE_ROOM_H

/*
 * Keeping a store below max_bytes, and some of its file system free: whoever
 * needs room has it made first. docs/format.md, "Evicting".
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "fs/store/store.h"
#include "fs/store/usage.h"

struct room {
	/*
	 * Of what follows. Held while room is made, which others wait for then;
	 * locks of the index and the counters are taken under it, no other.
	 */
	pthread_mutex_t lock;
	struct usage usage;
	uint64_t taken; /* by publications that are not placed yet */
	time_t until;	/* before then it is known that nothing can go */
	time_t rests;	/* before then nothing is done ahead of time */
};

void room_init(struct room *room);
void room_free(struct room *room);

/*
 * Before something of so many bytes gets its name: there is room for it until
 * room_give(), whatever comes of it. Evicts. Returns 0; -EFBIG when it is
 * larger than max_bytes; -ENOBUFS when too little can be evicted (logged);
 * other errnos.
 */
int room_take(struct store *store, uint64_t bytes);
/* `manifest`: of these, what stays as a manifest; 0 when it was not placed. */
void room_give(struct store *store, uint64_t bytes, uint64_t manifest);

/*
 * After the system has said that there is no space, ENOSPC or EDQUOT: evicts.
 * Returns 0 when it is worth trying once more; `err` when it is not (logged).
 */
int store_make_room(struct store *store, int err, uint64_t bytes);

/* Whether the store has bounds that room is made for ahead of time. */
bool store_is_bounded(const struct store *store);
/*
 * Makes that room if it is nearly used up. Returns 0; or as store_evict(),
 * which `progress` is for.
 */
int store_keep_room(struct store *store,
		    bool (*progress)(void *context, size_t files),
		    void *context);

#endif
