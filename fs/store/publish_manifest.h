/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PUBLISH_MANIFEST_H
#define TACFS_FS_STORE_PUBLISH_MANIFEST_H

/* Publishing a manifest that is made already. For the files of fs/store only.
 */

#include "fs/store/content.h"
#include "fs/store/publish.h"

/*
 * `content` says which packs are to be looked at or placed: none when the
 * manifest holds the content, or replaces one with the same packs. Errors are
 * those of store_publish(), and -ESTALE when a pack that is reused is gone;
 * then nothing is placed.
 */
int publish_manifest(struct store *store, const struct publication *p,
		     const struct content *content, const struct manifest *m,
		     struct version **out);

#endif
