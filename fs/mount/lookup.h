/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_LOOKUP_H
#define TACFS_FS_MOUNT_LOOKUP_H

/* From a name, and who asks, to a node. */

#include "fs/mount/mount.h"

struct found {
	struct node *node; /* held */
	double timeout;	   /* how long the kernel may keep the answer */
};

/*
 * What this name in this directory shows to the caller. 0; -ENOENT; other
 * errnos.
 */
int lookup_name(struct mount *m, struct node *directory, const char *name,
		struct caller *caller, struct found *found);

/* Whether every file that an .idx names is there; true for all others. */
bool lookup_is_whole(struct mount *m, struct node *directory,
		     const struct version *v);

/* The attributes as the kernel is given them. */
int node_stat(struct mount *m, struct node *node, struct stat *st);

#endif
