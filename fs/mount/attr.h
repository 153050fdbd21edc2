/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_ATTR_H
#define TACFS_FS_MOUNT_ATTR_H

/* Changing attributes: chmod, chown, utimens, truncate. */

#include "fs/mount/open.h"

/*
 * Applies the FUSE_SET_ATTR_* bits `set` of `st`. `h` is the open file, or NULL
 * for a change by path. 0; -EPERM for an owner other than the one shown; -EROFS
 * for the size of a readable.py; -ESTALE when the name is to be looked up
 * again; other errnos.
 */
int node_setattr(struct mount *m, struct node *node, const struct handle *h,
		 const struct stat *st, int set, struct caller *caller);

#endif
