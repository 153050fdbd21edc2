/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_COLLECT_H
#define TACFS_FS_STORE_COLLECT_H

/*
 * Collecting: what nobody needs any more is deleted, while others publish.
 * docs/format.md, "Collecting".
 */

#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/store/store.h"

enum {
	/* Between finding a pack needless and deleting it. */
	COLLECT_GRACE_SECONDS = 3600,
	/* After which a publication under way is taken for given up. */
	COLLECT_INTENT_SECONDS = 3600,
	/* Then less is copied than is won, and a store is at most doubled. */
	COLLECT_REWRITE_PERCENT = 50
};

struct collect_options {
	int64_t grace;	 /* seconds; 0: do both halves now */
	int64_t keep;	 /* seconds that deleted entries can be undeleted for */
	int64_t intents; /* seconds until what is under way counts as given up
			  */
	unsigned rewrite; /* packs with more dead bytes, in percent; 0: none */
	bool dry_run;
	bool (*progress)(void *context,
			 size_t files); /* or NULL; false: stop */
	void *context;
};

struct collect_result {
	size_t files;	      /* that were looked at, deleted ones included */
	size_t packs;	      /* that are needed */
	size_t expired_files; /* cannot be undeleted any more */
	size_t rewritten_packs;
	uint64_t rewritten_bytes; /* of these that nothing needs */
	size_t set_aside_packs;	  /* found needless, to be deleted later */
	uint64_t set_aside_bytes;
	size_t restored_packs; /* were set aside, and are needed */
	size_t deleted_packs;
	uint64_t deleted_bytes;
	char not_rewritten[PATH_MAX + 64]; /* why, or empty; no failure */
	char trouble[PATH_MAX + 64];	   /* one line, on failure */
};

/*
 * Returns 0; -EBUSY when somebody else collects; as mark_packs() when it cannot
 * be known what is needed, or `progress` says so: then nothing was deleted;
 * other errnos.
 */
int store_collect(struct store *store, const struct collect_options *options,
		  struct collect_result *result);

/* Whether nobody has collected, with success, for that long. */
bool collect_is_due(struct store *store, unsigned seconds);

#endif
