/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MARK_H
#define TACFS_FS_STORE_MARK_H

/*
 * Which packs are needed: by what is published in any namespace, by what can be
 * undeleted, by what is just being published. docs/format.md, "Collecting".
 */

#include <stdbool.h>
#include <stdint.h>
#include <time.h>

#include "fs/store/manifest_walk.h"
#include "fs/store/pack_set.h"
#include "fs/store/store.h"

struct mark {
	struct manifest_walk walk; /* its trouble: why it is not known */
	struct pack_set packs;
	size_t files;	       /* that were looked at */
	uint64_t bytes;	       /* sizes of these manifests */
	struct timespec begun; /* by the clock of the file system */
	bool (*progress)(void *context, size_t files); /* false: give up */
	void *context;
};

/*
 * Fills a mark whose `progress` is set. Returns 0; -EAGAIN when names were
 * moved about all the time; -ECANCELED when told to give up; -ENOTSUP when
 * there are files of a newer program, so that what they need is not known;
 * other errnos. On failure walk.trouble says more.
 */
int mark_packs(struct store *store, struct mark *mark);
void mark_free(struct mark *mark);

#endif
