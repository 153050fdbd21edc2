/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PROBE_H
#define TACFS_FS_STORE_PROBE_H

/*
 * What the file system under a store can really do, found by doing it, in a
 * directory in tmp/ that is removed again. For `tacfs doctor`.
 */

#include <stdbool.h>

#include "fs/store/store.h"

enum grade { GRADE_OK, GRADE_WEAK, GRADE_MISSING };

enum { ABILITY_TEXT_SIZE = 256 };

struct ability {
	const char *name;
	enum grade grade;
	bool needed; /* when this is missing, the store cannot be used */
	char what[ABILITY_TEXT_SIZE]; /* one sentence: what follows from it */
};

struct probe_listener {
	void (*tell)(struct probe_listener *listener,
		     const struct ability *ability);
};

/* Tells of each ability, in a fixed order. Returns 0 or a negative errno. */
int store_probe(struct store *store, struct probe_listener *listener);

#endif
