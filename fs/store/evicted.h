/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_EVICTED_H
#define TACFS_FS_STORE_EVICTED_H

/*
 * A directory on its way out: it is moved from refs/ to trash/evicted/ in one
 * step, so that nobody sees a part of it, and emptied there. What somebody
 * published into it meanwhile goes back to its path. docs/format.md,
 * "Evicting".
 */

#include <stdbool.h>
#include <stddef.h>

#include "fs/store/gain.h"
#include "fs/store/store.h"
#include "fs/store/victims.h"

/* What leaves the store, and what came of it. */
struct leaving {
	struct store *store;
	struct gain gain;
	size_t directories;
	size_t files;
};

/*
 * Evicts a leaf directory, unless it was used since, or somebody has it locked,
 * and then the directories above it that are empty without it. Returns 0, also
 * when it was not evicted; or a negative errno.
 */
int evicted_take(struct leaving *leaving, const struct victim *victim);

/* Goes on with what others, who were killed, have left in trash/evicted/. */
int evicted_go_on(struct leaving *leaving);

/* Whether this directory was evicted: then nothing in it is to be seen. */
bool evicted_has(const struct store *store, int dir);

/* Whether somebody, in whatever process, has this directory open for use. */
bool evicted_is_in_use(int dir);

#endif
