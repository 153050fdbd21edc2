/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CREATE_H
#define TACFS_FS_STORE_CREATE_H

/* Making a store, and changing its settings. */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/store/reason.h"
#include "fs/store/store.h"

struct store_plan {
	bool shared; /* several users write */
	gid_t group; /* of a shared one: who they are */
};

/*
 * Makes a store at `path`, which is missing or an empty directory, and all its
 * parts. Returns 0; -EEXIST when there is a store; -ENOTEMPTY when the
 * directory holds something else; other errnos. On failure `why` holds one
 * line that says what is wrong.
 */
int store_create(const char *path, const struct store_plan *plan, char *why,
		 size_t why_size);

/* The most bytes that the store should take; 0 for no limit. */
int store_set_max_bytes(struct store *store, uint64_t max_bytes, char *why,
			size_t why_size);

/*
 * For store_open(): makes FORMAT in the directory of `store` if that may become
 * a store. -EEXIST when it has one by now.
 */
int create_format(struct store *store, unsigned features,
		  const struct reason *why);

#endif
