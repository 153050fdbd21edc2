/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_LAYOUT_H
#define TACFS_FS_STORE_LAYOUT_H

/* The directories of a store, and who may do what in them. */

#include <stdbool.h>

#include "fs/store/reason.h"

struct store;

/*
 * What new files and directories of a store with these features allow. Needs
 * the descriptor of the store's directory only. 0 or a negative errno, with the
 * reason.
 */
int layout_choose_modes(struct store *store, unsigned features,
			const struct reason *why);

/*
 * Opens the directories of the store, and the namespace; makes those that are
 * missing. In a read-only store, what only writers need stays closed (-1), and
 * what is missing is an empty directory. 0 or a negative errno, with the
 * reason; then some may be open.
 */
int layout_open(struct store *store, const char *space,
		const struct reason *why);

/* The name of a store's directory that was just made is on disk, if it can be.
 */
void layout_keep_name(const struct store *store);

/* Whether that of a user in tmp/ or intents/ of a shared store has this name.
 */
bool layout_is_of_user(const char *name);

/* Those that are open. */
void layout_close(const struct store *store);

#endif
