/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_STORE_H
#define TACFS_FS_STORE_STORE_H

/*
 * The backing store: a directory that any number of mounts use at once. This
 * header opens it; version.h reads from it, publish.h writes to it. Layout and
 * file formats: docs/format.md. A store may be used from any number of threads.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/log.h"
#include "fs/share.h"

struct store;

struct store_config {
	bool create;	       /* make the store when the path is missing or an
				  empty directory */
	bool read_only;	       /* change nothing in it, and do not make it */
	const char *space;     /* the namespace; NULL for "default" */
	const struct log *log; /* borrowed; may be NULL */
	bool keep_damaged;     /* nothing goes to quarantine/ */
	const uid_t *trusted;  /* users whose files are used like our own */
	size_t trusted_count;
	const uint64_t *max_bytes; /* 0 is no limit; NULL: as the store says */
	struct share min_free;	   /* of the file system, to be left free */
};

/*
 * Opens the store at `path`. Returns 0; -ENOENT when it is not there (or not a
 * store) and create is false; -ENOTSUP when it has a format or a feature this
 * program does not know; -EBADMSG when FORMAT is damaged; -ENOTEMPTY when the
 * directory holds something else than a store; other errnos. On failure `why`
 * holds one line that says what is wrong.
 *
 * A store that cannot be written to (by this user, or since its file system is
 * mounted so) is opened as if read_only were set. What is missing in a
 * read-only store is empty: directories of older stores, the namespace.
 */
int store_open(const char *path, const struct store_config *config,
	       struct store **store, char *why, size_t why_size);
void store_close(struct store *store);
/* Whether nothing may be changed: then do not publish, and there is no tmp. */
bool store_is_read_only(const struct store *store);

/* Whether a namespace may have this name. */
bool store_space_allowed(const char *space);

/* The directory refs/<namespace>; borrowed. */
int store_refs(const struct store *store);
/* The namespace. */
const char *store_space(const struct store *store);
/* The directory tmp; borrowed. For private content (fd_temp()). */
int store_tmp(const struct store *store);
/* The store's directory itself; borrowed. */
int store_root(const struct store *store);
/*
 * Whether the store, or a part that it needs, was removed while it was open.
 * What is not found then says nothing, and what is made is lost.
 */
bool store_is_removed(const struct store *store);
/* The most bytes that the store should take; 0 when there is no limit. */
uint64_t store_max_bytes(const struct store *store);
/* The mode of a new directory below the namespace, where `asked` is wanted. */
mode_t store_dir_mode(const struct store *store, mode_t asked);
const struct log *store_log(const struct store *store);

/*
 * Held while a name is looked at and then changed because of what it showed:
 * nobody else changes a name meanwhile through this handle. For a few system
 * calls only. Publishing takes it by itself.
 */
void store_names_lock(struct store *store);
void store_names_unlock(struct store *store);

/*
 * renameat2() of a name below refs/ to another, so that nobody who looks at the
 * whole tree misses it. Returns 0 or a negative errno.
 */
int store_rename(struct store *store, int from_dir, const char *from,
		 int to_dir, const char *to, unsigned flags);
/* The same with RENAME_EXCHANGE. -EINVAL where the file system cannot. */
int store_exchange(struct store *store, int first_dir, const char *first,
		   int second_dir, const char *second);

/* How much was published through this handle; it only grows. */
size_t store_publications(struct store *store);

/* Whether what this uid published may be served: ours, root's, the trusted's.
 */
bool store_trusts(const struct store *store, uid_t uid);

#endif
