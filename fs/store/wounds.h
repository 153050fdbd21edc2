/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_WOUNDS_H
#define TACFS_FS_STORE_WOUNDS_H

/*
 * The names of files that were found damaged, until something is published
 * there again. Only for counting: the last WOUNDS_MAX of them are remembered.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

enum { WOUNDS_MAX = 1024 };

struct wound {
	dev_t device; /* of the directory */
	ino_t inode;
	uint64_t name; /* its hash */
};

struct wounds {
	pthread_mutex_t lock; /* nothing is taken under it */
	struct wound *list;   /* of WOUNDS_MAX; NULL until there is one */
	size_t count;
	size_t next; /* the oldest, when all places are taken */
};

void wounds_init(struct wounds *w);
void wounds_free(struct wounds *w);

/* The file `name` in the directory `dir` is gone because it was damaged. */
void wounds_add(struct wounds *w, int dir, const char *name);
/* Something was published there. Whether that had been lost to damage. */
bool wounds_heal(struct wounds *w, int dir, const char *name);

#endif
