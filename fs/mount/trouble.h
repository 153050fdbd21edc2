/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_TROUBLE_H
#define TACFS_FS_MOUNT_TROUBLE_H

#include "fs/mount/mount.h"

enum { TROUBLE_PATH_MAX = 512 };

/*
 * For messages: the path of a node, or of `name` in it unless that is NULL, in
 * the mount; of a long one the end. Takes the tree's lock. Points into `path`.
 */
const char *trouble_path(struct mount *m, const struct node *node,
			 const char *name, char path[TROUBLE_PATH_MAX]);

/*
 * Logs that something ("open", a verb) could not be done with a node, or with
 * `name` in it unless that is NULL, when `err`, a negative errno, tells of the
 * system under the store and not of the request. Else, and for 0, does nothing.
 * Returns the error to answer: `err`, but -EIO for what is missing because the
 * store is (store_is_removed()).
 */
int trouble_tell(struct mount *m, const char *what, struct node *node,
		 const char *name, int err);

/*
 * What the last try to open a node comes to: an ESTALE that stays is told, and
 * a miss, -ENOENT; anything else is what it was.
 */
int trouble_miss(struct mount *m, struct node *node, int err);

#endif
