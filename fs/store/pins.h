/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PINS_H
#define TACFS_FS_STORE_PINS_H

/*
 * Paths that are not evicted, with all below them, whether they are there or
 * not: records in pins/. docs/format.md, "Pins".
 */

#include <stdbool.h>
#include <stddef.h>
#include <sys/types.h>
#include <time.h>

#include "fs/store/store.h"

/* Those of all namespaces: "<namespace>", or "<namespace>/<path>". */
struct pins {
	char **places; /* in any order */
	size_t count;
	size_t capacity;
	ino_t ino; /* of pins/ when it was read, to see that it changed */
	struct timespec mtime;
};

/*
 * Pins, or unpins, a path of the store's namespace; "" is all of it. Slashes at
 * the ends mean nothing. Both return 0; -EINVAL when it is no path; -EEXIST, or
 * -ENOENT, when that was so before; other errnos.
 */
int pins_add(struct store *store, const char *path);
int pins_remove(struct store *store, const char *path);

/*
 * Reads what trusted users have pinned, unless it is as it was; *pins is {0} or
 * was filled before. Returns 0 or a negative errno, and then nothing is known.
 */
int pins_load(struct store *store, struct pins *pins);
void pins_free(struct pins *pins);

/* Whether a directory, as a place, has a pin: on, above or below it. */
bool pins_keep(const struct pins *pins, const char *place);

#endif
