/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_RENAME_H
#define TACFS_FS_MOUNT_RENAME_H

#include "fs/mount/mount.h"

/* One end of a rename. */
struct rename_end {
	struct node *directory;
	const char *name;
};

/*
 * rename(2), with RENAME_NOREPLACE or RENAME_EXCHANGE in `flags`. Beside its
 * errors: -EXDEV for moving a readable.py, which makes mv(1) copy it; -EROFS
 * for replacing one by another text; -EINVAL for giving an unsound file an
 * artifact's name, and for what exchange.h says.
 */
int name_rename(struct mount *m, const struct rename_end *from,
		const struct rename_end *to, unsigned flags,
		struct caller *caller);

/* Whether what is published was not judged by the rules of this name. */
bool rename_needs_judging(struct node *node, const char *name);

/*
 * After a file node was given another name, with node.writing held alone: its
 * manifest's identity changed with that. When it is not even what the node
 * showed, somebody published between, and the node is an old version's. If it
 * cannot be read, who looks it up next is told: the rename has been done.
 */
void rename_reload(struct mount *m, struct node *node);

#endif
