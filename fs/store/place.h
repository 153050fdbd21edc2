/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PLACE_H
#define TACFS_FS_STORE_PLACE_H

/* Where something is in a store: a path below the store's directory. */

#include <limits.h>

#include "fs/store/store.h"

/*
 * Of the directory `dir`, as it is just now. Returns 0; -EXDEV when it is not
 * below the store's directory; other errnos.
 */
int place_of(const struct store *store, int dir, char place[PATH_MAX]);

/*
 * Opens the directory that a path below `base` ends in, no link of which is
 * followed, to be gone through; *name is what the path ends with, and points
 * into it. The descriptor or a negative errno.
 */
int place_open_parent(int base, const char *path, const char **name);

#endif
