/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_TALLY_H
#define TACFS_FS_STORE_TALLY_H

/* What the store's own doings add to its counters. */

#include "fs/store/content.h"
#include "fs/store/publish.h"

/* Another version got its name, with content that was given or was there. */
void tally_named(struct store *store, const struct publication *p);
/* The same with content that was given. */
void tally_published(struct store *store, const struct publication *p);
/* Such content, of `size` bytes, is in blocks. */
void tally_blocks(struct store *store, const struct content *content,
		  uint64_t size);

/* The file `name` in `dir` was set aside; `kind` as for quarantine_file(). */
void tally_damaged(struct store *store, int dir, const char *name,
		   const char *kind);

#endif
