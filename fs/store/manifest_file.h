/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MANIFEST_FILE_H
#define TACFS_FS_STORE_MANIFEST_FILE_H

/* The file that a manifest is in, read as it is; nothing is judged here. */

#include <stddef.h>
#include <sys/stat.h>

#include "fs/store/store.h"

/*
 * Reads the file. *bytes is the caller's to free. Returns 0; -EISDIR for a
 * directory; -EPERM when nobody who is trusted answers for it, whatever it is;
 * -ELOOP or -ENXIO for what is not a regular file; -ENOENT also for a name that
 * is only being taken; -EFBIG when it is too large for a manifest; -ENODATA
 * when it became shorter meanwhile; other errnos. *st is filled for 0, -EPERM
 * and -EFBIG.
 */
int manifest_file_read(struct store *store, int dir, const char *name,
		       void **bytes, struct stat *st);

#endif
