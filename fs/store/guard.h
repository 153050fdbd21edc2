/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_GUARD_H
#define TACFS_FS_STORE_GUARD_H

/*
 * Keeps what a manifest needs from being collected while the manifest has no
 * name that a collector is sure to meet: a link to it in intents/, which stays
 * there when a collector is under way. docs/format.md, "Collecting".
 */

#include <stdbool.h>

#include "fs/fd.h"
#include "fs/store/store.h"

struct guard {
	struct store *store;
	char link[FD_DRAFT_NAME_SIZE]; /* in intents/; empty: none */
	bool moves;		       /* moves_begin() instead */
};

/*
 * Guards what `name` in `dir` is, before it is moved. What has no manifest, a
 * directory above all, is guarded as moves.h says. Returns 0; -ENOENT when it
 * is not there; other errnos when it must not be moved.
 */
int guard_begin(struct store *store, int dir, const char *name,
		struct guard *guard);
void guard_end(struct guard *guard);

/* Whether a collector is under way. */
bool guard_is_needed(const struct store *store);
/*
 * If `name` in intents/ tells of a move that has ended and left its link for a
 * collector, drops both, and is true. For who begins to collect: a mark that
 * begins later needs neither.
 */
bool guard_drop_left(const struct store *store, const char *name);

/* Whether a link that was left has this name. */
bool guard_name_is_left(const char *name);

#endif
