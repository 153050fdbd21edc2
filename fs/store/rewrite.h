/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_REWRITE_H
#define TACFS_FS_STORE_REWRITE_H

/*
 * Rewriting packs of which little is needed any more: what is goes into a new
 * pack, and the manifests are replaced by such that name it. The old packs are
 * then needless. docs/format.md, "Rewriting".
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <time.h>

#include "fs/store/live.h"
#include "fs/store/store.h"

struct rewrite_options {
	unsigned percent;      /* more of a pack's bytes than that are dead */
	int64_t before;	       /* when the pack last changed, in seconds */
	struct timespec begun; /* by the clock of the file system: now */
	bool dry_run;
	struct live_ticker ticker;
};

struct rewrite_result {
	size_t packs;		     /* that were rewritten */
	uint64_t bytes;		     /* dead ones in these */
	char trouble[PATH_MAX + 64]; /* one line, on failure */
};

/*
 * Returns 0; what the ticker says; other errnos. Whatever it returns, all that
 * was published is as it was. Manifests that change meanwhile, and those of
 * others, keep the packs that they name.
 */
int store_rewrite(struct store *store, const struct rewrite_options *options,
		  struct rewrite_result *result);

#endif
