/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_XATTR_H
#define TACFS_FS_MOUNT_XATTR_H

/*
 * Extended attributes: those that users give files and directories, and those
 * in which tacfs says what it knows. Other namespaces than user.* there are
 * not, so what asks for them gets -EOPNOTSUPP.
 */

#include "fs/mount/mount.h"

/*
 * Sets or removes one. 0; the errors of xattrs_change(); -EPERM for
 * user.tacfs.* and where Linux allows none; -EROFS; what the directory's file
 * system, or the store, says.
 */
int xattr_apply(struct mount *m, struct node *node,
		const struct xattr_change *change);

/* The value. 0; -ENODATA; other errnos. */
int xattr_get(struct mount *m, struct node *node, const char *name,
	      struct writer *out);

/* The names, each with a NUL behind it; none of user.tacfs.*. 0, or why not. */
int xattr_list(struct mount *m, struct node *node, struct writer *out);

#endif
