/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MARK_H
#define TACFS_FS_STORE_MARK_H

/*
 * Which packs are needed: by what is published in any namespace, by what can be
 * undeleted, by what is just being published. docs/format.md, "Collecting".
 */

#include <limits.h>
#include <stdbool.h>
#include <time.h>

#include "fs/store/pack_set.h"
#include "fs/store/store.h"

struct mark {
	struct pack_set packs;
	size_t files;		     /* that were looked at */
	struct timespec begun;	     /* by the clock of the file system */
	char trouble[PATH_MAX + 64]; /* why it is not known; one line */
	bool (*progress)(void *context, size_t files); /* false: give up */
	void *context;
};

/*
 * Fills a mark whose `progress` is set. Returns 0; -EAGAIN when names were
 * moved about all the time; -ECANCELED when told to give up; -ENOTSUP when
 * there are files of a newer program, so that what they need is not known;
 * other errnos. On failure `trouble` says more.
 */
int mark_packs(struct store *store, struct mark *mark);
void mark_free(struct mark *mark);

#endif
