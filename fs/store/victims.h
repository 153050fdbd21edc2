/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_VICTIMS_H
#define TACFS_FS_STORE_VICTIMS_H

/*
 * What could be evicted: the few oldest of a tree, found in one walk, in memory
 * that does not depend on how many there are.
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <sys/stat.h>
#include <time.h>

#include "fs/store/store.h"

enum { VICTIMS_MAX = 512 };

struct victim {
	struct timespec used; /* last; or deleted */
	ino_t ino;
	char *path; /* below refs/ or trash/refs/ */
};

struct victims {
	size_t count;
	struct victim list[VICTIMS_MAX]; /* a heap, the youngest first */
	/* whether it may be evicted at all; or NULL */
	bool (*fits)(void *context, int dir, const char *place);
	bool (*progress)(void *context); /* false: give up; or NULL */
	void *context;
};

/*
 * Both fill the heap of *victims, whose other members are set. Leaf directories
 * are those without directories in them, with a file, below a namespace; they
 * were used at their atime. Deleted files are those in trash/refs. Return 0;
 * -ECANCELED when told to give up; other errnos.
 */
int victims_find_leaves(struct store *store, struct victims *victims);
int victims_find_deleted(struct store *store, struct victims *victims);

/* From the heap to an order: the oldest first. */
void victims_sort(struct victims *victims);
void victims_free(struct victims *victims);

/* For tests, and for both of the above: the heap keeps the oldest. */
int victims_offer(struct victims *victims, const struct timespec *used,
		  ino_t ino, const char *path);

#endif
