/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_SPILL_H
#define TACFS_FS_MOUNT_SPILL_H

/*
 * Files in the store's tmp/ that have no name, so that nothing is left of them
 * when the daemon dies, and of which there may be more than descriptors: those
 * unused for longest get a name and are closed, and are opened again by it when
 * somebody needs them.
 */

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "fs/fd.h"

/* All of a mount. */
struct spills {
	pthread_mutex_t lock; /* of what follows, and of every spill */
	int tmp;	      /* borrowed */
	size_t limit;	      /* how many may be open */
	size_t open;
	struct spill *newest; /* of the open ones, by their last use */
	struct spill *oldest;
	struct spill *named;
	time_t touched; /* those, by the monotonic clock */
};

/* One file. There is none until spill_make(). */
struct spill {
	struct spills *all;
	bool exists;
	bool stays;	       /* it cannot be closed meanwhile */
	struct fd_draft draft; /* fd is -1 while it is closed */
	unsigned uses;
	struct spill *newer;
	struct spill *older;
	struct spill *next_named;
};

int spills_init(struct spills *all, int tmp, size_t limit);
void spills_free(struct spills *all);
/*
 * To be called now and then: what lies in tmp/ for a day counts as left over
 * from a program that has died.
 */
void spills_touch(struct spills *all);

void spill_init(struct spill *s, struct spills *all);
void spill_free(struct spill *s);

/*
 * The descriptor, which stays open until spill_end(): -ENODATA when there is no
 * file, or another negative errno. After an error spill_end() is not called.
 */
int spill_begin(struct spill *s);
/* The same, but makes an empty file when there is none. */
int spill_make(struct spill *s);
void spill_end(struct spill *s);

/*
 * Puts another file in its place, also for those who have begun to use it, in
 * one step. It is kept open, and is the spill's when this returns 0.
 */
int spill_replace(struct spill *s, int fd);

#endif
