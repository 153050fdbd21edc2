/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_FRESH_H
#define TACFS_FS_STORE_FRESH_H

/*
 * What other hosts did. A network file system keeps names, also that one is
 * missing, and attributes for up to a minute, and asks for them again when the
 * directory is opened. So that is done before something is taken for missing,
 * or for what it was. On local file systems these do nothing.
 */

#include <stdbool.h>

#include "codec/digest.h"
#include "fs/store/store.h"

/* Whether the file system of `fd` may keep names: it is not known to be local.
 */
bool fresh_is_needed(int fd);

/* Names in the directory `dir`, which may have been opened with O_PATH. */
void fresh_names(const struct store *store, int dir);
/* Names in every directory on the way from `dir` to `path`. */
void fresh_path(const struct store *store, int dir, const char *path);
/* The places where a pack may be. */
void fresh_pack(const struct store *store, const struct digest *id);

#endif
