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
 * rename(2), and RENAME_NOREPLACE in `flags`. Beside its errors: -EXDEV for
 * moving a readable.py, which makes mv(1) copy it; -EROFS for replacing one by
 * another text; -EINVAL for giving an unsound file an artifact's name, and for
 * RENAME_EXCHANGE.
 */
int name_rename(struct mount *m, const struct rename_end *from,
		const struct rename_end *to, unsigned flags,
		struct caller *caller);

#endif
