/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CHECK_H
#define TACFS_FS_STORE_CHECK_H

/*
 * Goes through all of a store, whatever others do to it meanwhile, and tells
 * what is wrong with it. For `tacfs fsck` and `tacfs doctor`.
 *
 * Memory: about 40 bytes a pack, the manifest that is looked at, and what packs
 * that are open take; besides, when a block is not where its manifest says, the
 * index of all blocks (block_index.h).
 */

#include <stdbool.h>
#include <stdint.h>

#include "fs/store/store.h"

enum problem_kind {
	PROBLEM_NONE,
	PROBLEM_WITHHELD,  /* built on what others have; never told */
	PROBLEM_DAMAGED,   /* a manifest or a pack */
	PROBLEM_BLOCK,	   /* a pack with damaged blocks */
	PROBLEM_DANGLING,  /* a manifest with a block that is nowhere */
	PROBLEM_CONTENT,   /* whole blocks that give another content */
	PROBLEM_NEWER,	   /* a format that this program does not know */
	PROBLEM_UNTRUSTED, /* of an owner whose files are not served */
	PROBLEM_MODE,	   /* others may change it, or its owner not read it */
	PROBLEM_KIND,	   /* a kind of file that does not belong there */
	PROBLEM_NAME,	   /* a name that does not belong there */
	PROBLEM_DRAFT,	   /* left in tmp/ or intents/ a day ago */
	PROBLEM_UNCHECKED  /* could not be looked at */
};

struct problem {
	enum problem_kind kind;
	const char *path; /* below the store; any bytes */
	const char *what; /* one line */
	bool repaired;
};

struct check_counts {
	uint64_t directories; /* of namespaces, and below */
	uint64_t files;	      /* manifests, of all namespaces */
	uint64_t symlinks;
	uint64_t packs;
	uint64_t unused_packs; /* that no manifest names, nor another pack */
	uint64_t drafts;       /* files in tmp/ and intents/ */
	uint64_t others;       /* files of a shared store that are not served */
	uint64_t trashed;
	uint64_t quarantined;
	uint64_t problems;  /* all but those of PROBLEM_UNCHECKED */
	uint64_t repaired;  /* of them */
	uint64_t unchecked; /* what could not be looked at */
};

/* Who wants to know. `counts` are those so far. */
struct check_listener {
	void (*found)(struct check_listener *listener,
		      const struct problem *problem);
	/* Called for every file; NULL when it does not matter. */
	void (*goes_on)(struct check_listener *listener,
			const struct check_counts *counts);
};

struct check_options {
	bool repair;	 /* needs a store that is not open to keep_damaged */
	bool read_data;	 /* every byte, not only what describes them */
	bool names_only; /* no file is opened: kinds, owners, modes */
};

/*
 * Returns 0 when the store was gone through, whatever was found; -ENOMEM, or
 * what the system says when the store's directories cannot be read.
 */
int store_check(struct store *store, const struct check_options *options,
		struct check_listener *listener, struct check_counts *counts);

#endif
