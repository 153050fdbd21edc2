/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_EXCHANGE_H
#define TACFS_FS_MOUNT_EXCHANGE_H

#include "fs/mount/rename.h"

/*
 * RENAME_EXCHANGE: each name shows what the other did, in one step. Beside its
 * errors: -EINVAL where the store's file system cannot, and for what would have
 * to be judged anew (an artifact's name for what was no artifact of that kind)
 * or is not published (a private version, a readable.py).
 */
int name_exchange(struct mount *m, const struct rename_end *first,
		  const struct rename_end *second, struct caller *caller);

#endif
