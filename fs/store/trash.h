/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_TRASH_H
#define TACFS_FS_STORE_TRASH_H

/*
 * Where entries go that were deleted, so that they can come back for a while.
 * docs/format.md, "Layout" and "Deleting".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "fs/store/store.h"

enum {
	TRASH_SECONDS = 7 * 24 * 3600, /* how long entries are kept */
	TRASH_LEAST_SECONDS = 60       /* younger plain files are not kept */
};

/*
 * Deletes the file `name` in `dir`, which is below refs/<namespace>: moves it
 * to the trash. What cannot be kept is deleted all the same. Returns 0; or what
 * unlinkat() says.
 */
int trash_delete(struct store *store, int dir, const char *name);

struct trash_restored {
	size_t files;
	size_t taken; /* whose names are in use again */
	void (*restored)(void *context, const char *path); /* or NULL */
	void *context;
	bool dry_run;
};

/*
 * Brings back the newest of what was deleted at, or below, `path` in the
 * store's namespace; "" is all of it. Returns 0; -ENOENT when nothing was
 * deleted there; -EINVAL when it is no such path; other errnos.
 */
int trash_restore(struct store *store, const char *path,
		  struct trash_restored *result);

/*
 * Moves the file `name` in `dir` to `path` below `base`, so that no collector
 * misses it; the directories are made. `path` is changed meanwhile. Returns 0;
 * -EEXIST when something has that name, and then nothing was moved; other
 * errnos.
 */
int trash_move_back(struct store *store, int dir, const char *name, int base,
		    char *path);

/* Whether each component is a name, and neither "." nor "..". */
bool trash_is_path(const char *path);

/*
 * Deletes for good what was deleted before `before`, in seconds of the file
 * system's clock. Counts into *files. Returns 0 or a negative errno.
 */
int trash_expire(struct store *store, int64_t before, bool dry_run,
		 size_t *files);

#endif
