/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_CHANGE_H
#define TACFS_FS_MOUNT_CHANGE_H

/* Other attributes for the same content of a file. */

#include "fs/mount/mount.h"

struct change {
	bool set_mode;
	mode_t mode;
	bool set_mtime;
	struct timespec mtime;
	bool set_atime; /* else it stays, even when it was the mtime */
	struct timespec atime;
	const struct xattr_change *xattr; /* or NULL */
};

/*
 * Publishes other attributes of what is published already, or only notes them
 * while there is something else to publish. Returns 0; -ENOENT when its name is
 * gone or, unless `by_path`, shows another version; what xattrs_change() and
 * the store say, and then nothing has changed. With node.writing held alone.
 */
int change_apply(struct mount *m, struct node *node,
		 const struct change *change, bool by_path);

#endif
