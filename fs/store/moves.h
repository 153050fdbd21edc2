/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MOVES_H
#define TACFS_FS_STORE_MOVES_H

/*
 * Who goes through a tree while a name in it is moved may meet the file at
 * neither place. So whoever moves names says so, before and after, in a file of
 * its own in intents/, and a collector goes through the tree again if it sees
 * that somebody did meanwhile. docs/format.md, "Collecting".
 */

#include <pthread.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/store/store.h"

enum { MOVES_NAME_SIZE = 32 };

struct moves {
	pthread_mutex_t lock; /* of what follows; nothing is taken under it */
	int fd;		      /* -1 until the first move */
	char name[MOVES_NAME_SIZE];
	uint64_t begun;
	uint64_t ended;
};

void moves_init(struct moves *moves);
/* Takes the file away, unless a move is under way. */
void moves_free(struct store *store);

/* Around every move. Returns 0; or why nothing may be moved, a negative errno.
 */
int moves_begin(struct store *store);
void moves_end(struct store *store);

/* Whether a file in intents/ is one of these. */
bool moves_name_is(const char *name);

/* What all the files say: equal at two times when nothing moved in between. */
struct moves_state {
	uint64_t digest;
	bool under_way; /* somebody's move has begun and not ended */
};

/* 0; or a negative errno. */
int moves_look(struct store *store, struct moves_state *state);

#endif
