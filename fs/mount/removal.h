/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_REMOVAL_H
#define TACFS_FS_MOUNT_REMOVAL_H

/*
 * Taking a name out of a directory: out of the store, or, with deletes=private,
 * only out of what this mount shows (hides.h). And the reverse: making way in
 * the store for what is made under a name that is only hidden.
 */

#include "fs/mount/mount.h"

/* A name that is no directory: 0, or -ENOENT when the mount has none. */
int removal_of_file(struct mount *m, struct node *directory, const char *name);

/* A directory in which the mount shows nothing any more. */
int removal_of_directory(struct mount *m, struct node *directory,
			 const char *name);

/*
 * Something else than a file is about to be made under `name`, which was hidden
 * (hides_take()): takes what is there out of the store. 0; -ENOENT when there
 * is nothing; -ENOTEMPTY for a directory that the store has something in.
 */
int removal_of_hidden(struct mount *m, struct node *directory,
		      const char *name);

#endif
