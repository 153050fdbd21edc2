/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_COLLECT_RUN_H
#define TACFS_FS_STORE_COLLECT_RUN_H

/* One who collects, from its announcement on. For the files of fs/store only.
 */

#include "fs/store/collect.h"
#include "fs/store/collector.h"
#include "fs/store/mark.h"

struct collect_run {
	struct store *store;
	const struct collect_options *options;
	struct collect_result *result; /* `trouble` says what failed */
	struct collector collector;
	struct mark mark;
	bool settled; /* what was marked is on disk */
};

/*
 * Announces, and drops what was given up in intents/. Returns 0; -EBUSY when
 * somebody else collects; other errnos.
 */
int collect_begin(struct collect_run *run);
void collect_end(struct collect_run *run);

/* Asked before each change, since there may be hours between two. */
int collect_goes_on(struct collect_run *run);

/*
 * Marks; deletes packs that were set aside long enough; sets aside others; and
 * without a grace period deletes those, too. Returns 0 or a negative errno.
 */
int collect_packs(struct collect_run *run);

#endif
