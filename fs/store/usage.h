/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_USAGE_H
#define TACFS_FS_STORE_USAGE_H

/*
 * How many bytes a store takes, known without going through all of it: the
 * sizes of the packs, those set aside included, and those of the manifests. The
 * packs are counted anew where a directory of them changed. The manifests are
 * what the last mark counted, which is kept in stats/manifests, and what was
 * published through this handle since.
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>
#include <sys/stat.h>
#include <time.h>

#include "fs/store/store.h"

enum { USAGE_FANS = 256 };

/* A directory of packs, as it was when it was gone through. */
struct usage_part {
	ino_t ino;
	struct timespec mtime;
	bool settled; /* the mtime tells of changes since */
	uint64_t bytes;
};

struct usage {
	/* guarded by whoever calls usage_look() */
	struct usage_part fans[USAGE_FANS];
	struct usage_part set_aside;
	struct timespec noted; /* stats/manifests, as it was read */
	ino_t noted_ino;
	uint64_t manifests; /* what it says */
	/* not guarded */
	_Atomic uint64_t published; /* manifests since, by this handle */
};

/* The bytes that count against max_bytes. Returns 0 or a negative errno. */
int usage_look(struct store *store, struct usage *usage, uint64_t *bytes);

/* A mark has counted the manifests. */
void usage_note_manifests(struct store *store, uint64_t bytes);

#endif
