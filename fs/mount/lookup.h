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
/* The same for a caller outside, whose misses are counted. */
int lookup_asked(struct mount *m, struct node *directory, const char *name,
		 struct caller *caller, struct found *found);

/*
 * Puts a private version of the caller, begun from what was found, in its
 * place: of a published file a copy, of a readable.py an empty one.
 */
int lookup_private(struct mount *m, struct node *directory, const char *name,
		   struct caller *caller, struct found *found);

/*
 * Whether readers must not have a version under this name: with -o strict they
 * get only what is known to be sound.
 */
bool lookup_bars(const struct mount *m, const char *name,
		 const struct version *v);

/*
 * A file that an .idx names. 0, and its version; or NULL when it is a symlink,
 * which the client follows by itself; -ENOENT, also when it is barred; other
 * errnos.
 */
int lookup_named(struct mount *m, struct node *directory, const char *name,
		 struct version **named);

/* The attributes as the kernel is given them. */
int node_stat(struct mount *m, struct node *node, struct stat *st);

#endif
