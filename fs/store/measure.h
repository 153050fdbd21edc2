/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MEASURE_H
#define TACFS_FS_STORE_MEASURE_H

/* What is in a store, by walking all of it. For `tacfs stats`. */

#include <stdint.h>

#include "fs/store/store.h"

struct store_measures {
	uint64_t files; /* published files, all namespaces */
	uint64_t directories;
	uint64_t file_bytes; /* their sizes: what was written */
	uint64_t unreadable; /* manifests that are damaged or unknown */
	uint64_t references; /* blocks that manifests name */
	uint64_t referenced_bytes;
	uint64_t packs;
	uint64_t pack_bytes;  /* sizes of the pack files */
	uint64_t blocks;      /* in packs */
	uint64_t block_bytes; /* raw size of those */
	uint64_t block_stored_bytes;
	uint64_t manifest_bytes;  /* sizes of the manifest files */
	uint64_t stored_bytes;	  /* sizes of all files under the store */
	uint64_t allocated_bytes; /* st_blocks of those */
	uint64_t quarantined;	  /* files in quarantine/, without reasons */
};

/* Returns 0 or a negative errno. Bounded memory, whatever the store's size. */
int store_measure(struct store *store, struct store_measures *out);

#endif
