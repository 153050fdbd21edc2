/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_SET_ASIDE_H
#define TACFS_FS_STORE_SET_ASIDE_H

/*
 * Packs between packs/ and their end: in trash/packs/, from where a reader
 * still takes them, and from where whoever needs one brings it back.
 */

#include "codec/digest.h"
#include "fs/store/store.h"

/* Below trash/: "packs/ab…". */
enum { SET_ASIDE_PATH_SIZE = 6 + DIGEST_TEXT_SIZE };
void set_aside_path(const struct digest *id, char path[SET_ASIDE_PATH_SIZE]);

/* Both return 0; -ENOENT when the pack is not there; other errnos. */
int set_aside_pack(struct store *store, const struct digest *id);
int bring_back_pack(struct store *store, const struct digest *id);

#endif
