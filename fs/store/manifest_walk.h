/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_MANIFEST_WALK_H
#define TACFS_FS_STORE_MANIFEST_WALK_H

/* All manifests below a directory, whoever published them. */

#include <limits.h>
#include <sys/stat.h>

#include "codec/manifest.h"

/* One of them; borrowed for the visit. */
struct manifest_spot {
	int dir;
	const char *name;
	const struct stat *st;
	const struct manifest *m;
};

struct manifest_walk {
	/* Returns 0, or a negative errno that ends the walk. */
	int (*visit)(struct manifest_walk *walk,
		     const struct manifest_spot *spot);
	char trouble[PATH_MAX + 64]; /* why it has failed; one line, or empty */
};

/*
 * Calls `visit` for every manifest below the directory `name` in `parent`. What
 * is no manifest, or damaged, or vanishes, is passed over. Returns 0, also when
 * there is no such directory; -ENOTSUP when a file is of a newer program; what
 * `visit` says; other errnos.
 */
int manifest_walk(struct manifest_walk *walk, int parent, const char *name);

#endif
