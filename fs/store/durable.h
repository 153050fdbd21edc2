/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_DURABLE_H
#define TACFS_FS_STORE_DURABLE_H

/*
 * Getting files on disk before their names, and their names before a
 * publication returns. docs/format.md, "Protocols", says why this is enough.
 */

#include <stdbool.h>

#include "fs/store/store.h"

/*
 * Whether the file system that `fd` is on keeps one journal, in the order of
 * what was done: after an fsync of one file all that was done before is there
 * after a crash, except data that was not written yet.
 */
bool durable_has_journal(int fd);

/* Starts to write the data of a file: a hint. */
void durable_start(int fd);

/* These return 0 or a negative errno. */

/* Waits for it; a name that the file is given from now on has its data. */
int durable_data(const struct store *store, int fd);
/* A name that was given in `dir` is on disk, at the latest after the commit. */
int durable_name(const struct store *store, int dir);
/* The same, and the names of `dir` and of all above it in the namespace. */
int durable_path(const struct store *store, int dir);
/* `fd` is the last file that was given a name. All is on disk after this. */
int durable_commit(int fd);
/* All that was ever done to the store, by anybody on this host. */
int durable_all(const struct store *store);

#endif
