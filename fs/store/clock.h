/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CLOCK_H
#define TACFS_FS_STORE_CLOCK_H

/*
 * The clock of the store's file system, by which its files have their times. It
 * may be that of another host, and run an hour off ours. Between two times that
 * the file system is seen to give ours measures what passes, and only forward,
 * so what is taken for now is never later than it is there.
 */

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

#include "fs/store/identity.h"
#include "fs/store/store.h"

/* Asks the file system. Returns 0 or a negative errno; not in a read-only
 * store. */
int clock_ask(struct store *store, struct timespec *now);
/* It has given this time just now. */
void clock_set(struct store *store, const struct timespec *now);
/* It has given this time once, so it is at least as late as that. */
void clock_saw(struct store *store, const struct timespec *time);
/* What it shows now, or showed a moment ago. */
struct timespec clock_now(const struct store *store);

/*
 * Whether the file is a claim (fd.h) whose content is about to come. One that
 * is older than a minute is that of a process which was killed.
 */
bool clock_claim_stands(const struct store *store, const struct stat *st);

/*
 * Whether a change from now on shows in an identity (identity.h). To be asked
 * right after the stat() that gave it, before reading the file.
 */
bool identity_settled(struct store *store,
		      const struct file_identity *identity);

#endif
