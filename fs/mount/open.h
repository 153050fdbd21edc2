/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPEN_H
#define TACFS_FS_MOUNT_OPEN_H

/*
 * Open files: from open or create, over read and write, to close (which is
 * where publishing happens) and to the last release.
 */

#include "fs/mount/lookup.h"
#include "fs/mount/mount.h"

struct handle {
	struct node *node;    /* held */
	struct node *place;   /* held; the directory that is in use; or NULL */
	struct version *held; /* what is read, if it was published; or NULL */
	struct handle *newer; /* the list of all; guarded by tree.lock */
	struct handle *older;
	bool writes;
	bool appends;
	char *text;	       /* of a NODE_REPORT; owned */
	struct process opener; /* only when it writes */
};

/*
 * Opens a node. Returns 0 and a handle; -ESTALE when the kernel is to look the
 * name up again, and then open what it finds: a private version for a writer of
 * an artifact, a newer version for a reader; -ETXTBSY for a writer of an
 * artifact by /proc/PID/fd; -ENOENT when the content is damaged; other errnos.
 * `flags` are open(2)'s.
 */
int handle_open(struct mount *m, struct node *node, int flags,
		struct caller *caller, struct handle **out);

/* Creates `name` and opens it; *found is what the kernel is told. */
int handle_create(struct mount *m, struct node *directory, const char *name,
		  mode_t mode, int flags, struct caller *caller,
		  struct found *found, struct handle **out);

ssize_t handle_read(struct mount *m, struct handle *h, uint64_t offset,
		    void *bytes, size_t size);
/* `mapped`: pages of a mapping, whose place is given even with O_APPEND. */
int handle_write(struct mount *m, struct handle *h, uint64_t offset,
		 const void *bytes, size_t size, bool mapped);

/* A close(2) by the caller: publishes what its opener wrote. */
int handle_flush(struct mount *m, struct handle *h, struct caller *caller);
int handle_sync(struct mount *m, struct handle *h);
/* The last close of all; frees the handle. */
void handle_release(struct mount *m, struct handle *h);
/*
 * At the end of a mount, with no requests any more: releases what is left. The
 * kernel sends releases in the background, and none once it has unmounted. When
 * the files are not known to be `closed`, their writers are not done: what they
 * have in private is not published.
 */
void handle_release_all(struct mount *m, bool closed);

#endif
