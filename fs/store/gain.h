/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_GAIN_H
#define TACFS_FS_STORE_GAIN_H

/*
 * What deleting manifests gives back at the most: their sizes, and those of the
 * packs that they name, as if nobody else needed these. A mark then tells.
 */

#include <stdint.h>

#include "fs/store/pack_set.h"
#include "fs/store/store.h"

struct gain {
	struct pack_set packs; /* that were counted */
	uint64_t bytes;
};

/* Adds the manifest `name` in `dir`; what is none adds nothing. */
void gain_add(struct store *store, struct gain *gain, int dir,
	      const char *name);
void gain_free(struct gain *gain);

#endif
