/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_EVICT_H
#define TACFS_FS_STORE_EVICT_H

/*
 * Making room: what was deleted, and then the leaf directories that were not
 * used for longest, leave the store, and the packs that nothing else needs.
 * docs/format.md, "Evicting".
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/store/store.h"

struct evict_options {
	uint64_t bytes; /* the store is to take no more than this */
	uint64_t free;	/* and its file system to have this much free */
	bool (*progress)(void *context, size_t files); /* or NULL; false: stop
							*/
	void *context;
};

struct evict_result {
	size_t directories;
	size_t files;	      /* published ones */
	size_t expired_files; /* deleted ones, for good */
	size_t deleted_packs;
	uint64_t deleted_bytes;
	uint64_t bytes;		     /* what the store takes now */
	bool enough;		     /* what was asked for is so */
	char trouble[PATH_MAX + 64]; /* one line, on failure */
};

/*
 * Evicts until it is enough or nothing is left that may go: pinned directories
 * stay, and those in which somebody has files open. Returns 0, also when it is
 * not enough; -EBUSY when somebody else collects or evicts; -ECANCELED; other
 * errnos.
 */
int store_evict(struct store *store, const struct evict_options *options,
		struct evict_result *result);

#endif
