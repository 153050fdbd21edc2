/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_NAMES_H
#define TACFS_FS_MOUNT_NAMES_H

/*
 * Making and removing names. Each returns 0 or a negative errno, the ones that
 * the same call gives on an ordinary file system unless it says otherwise.
 */

#include "fs/mount/lookup.h"

int name_mkdir(struct mount *m, struct node *directory, const char *name,
	       mode_t mode, struct caller *caller, struct found *found);
int name_symlink(struct mount *m, struct node *directory, const char *name,
		 const char *target, struct caller *caller,
		 struct found *found);
/* The target, with a NUL, which the caller frees. */
int name_readlink(struct mount *m, struct node *node, char **target);

/* Both what is published and what the caller has private there. */
int name_unlink(struct mount *m, struct node *directory, const char *name,
		struct caller *caller);
/* What the caller cannot see does not keep a directory from being removed. */
int name_rmdir(struct mount *m, struct node *directory, const char *name,
	       struct caller *caller);

#endif
