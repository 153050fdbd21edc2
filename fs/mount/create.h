/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_CREATE_H
#define TACFS_FS_MOUNT_CREATE_H

/* New files: private ones, and those that everybody sees at once. */

#include "fs/mount/lookup.h"
#include "fs/mount/mount.h"

/*
 * Creates `name`, as mknod(2) does; *found is what the kernel is told. Returns
 * 0; -EEXIST when it is there; other errnos.
 */
int node_create(struct mount *m, struct node *directory, const char *name,
		mode_t mode, struct caller *caller, struct found *found);

#endif
