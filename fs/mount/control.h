/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_CONTROL_H
#define TACFS_FS_MOUNT_CONTROL_H

/*
 * .tacfs in the root of a mount: a directory with files that tell about the
 * mount. It is found by name and listed nowhere, since clients take a root that
 * is not empty for a cache. Nothing in it, nor itself, can be changed.
 */

#include "fs/mount/mount.h"

#define CONTROL_NAME ".tacfs"

/* Makes its nodes, which stay until the tree is freed. 0 or -ENOMEM. */
int control_init(struct mount *m);

/* Whether the name in that directory is .tacfs, or is in it. */
bool control_has(const struct mount *m, const struct node *directory,
		 const char *name);
/* Such a name's node, held. 0 or -ENOENT. */
int control_lookup(struct mount *m, const struct node *directory,
		   const char *name, struct node **out);

/* The name of its file number `index`; NULL behind the last one. */
const char *control_name(size_t index);
/* What a NODE_REPORT says now; the caller frees it. 0, or a negative errno. */
int control_text(struct mount *m, const struct node *node, char **text);

/* The attributes of the directory. */
void control_stat(const struct mount *m, struct stat *st);

/* Up to `size` bytes of what control_text() gave; how many. */
ssize_t control_read(const char *text, uint64_t offset, void *bytes,
		     size_t size);

#endif
