/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_LISTING_H
#define TACFS_FS_MOUNT_LISTING_H

/*
 * An open directory: the names that its reader saw when it began to read, so
 * that what is removed or published meanwhile moves no other name.
 */

#include "fs/mount/lookup.h"

struct listing;

/* Holds the directory. NULL without memory. */
struct listing *listing_open(struct mount *m, struct node *directory);
void listing_close(struct mount *m, struct listing *l);

/*
 * Takes the names anew: at the first read and after rewinddir(3). `caller`
 * decides which private versions are among them. 0 or a negative errno.
 */
int listing_fill(struct mount *m, struct listing *l, struct caller *caller);

/*
 * Entry `index` ("." and ".." are the first): its name, or NULL behind the
 * last one. Borrowed until the next fill.
 */
const char *listing_name(const struct listing *l, size_t index);
/*
 * The caller was given this name. Some must still be found by it when the
 * removal of another name has hidden them: it may be going to unlink them all.
 */
void listing_gave(struct mount *m, struct listing *l, const char *name,
		  struct caller *caller);
struct node *listing_directory(const struct listing *l);

#endif
