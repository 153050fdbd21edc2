/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_MOUNT_H
#define TACFS_FS_MOUNT_MOUNT_H

/*
 * One mount: a store, the nodes that the kernel knows, and the view in which it
 * is shown. Everything that answers requests is given one of these.
 */

#include <stdatomic.h>

#include "fs/log.h"
#include "fs/mount/node.h"
#include "fs/store/store.h"

enum { RETRIES = 64 };

/*
 * A thread whose open was answered with ESTALE. The kernel looks the name up
 * again and repeats the open, but only once: the second must not fail so.
 */
struct retry {
	pid_t thread;
	const struct node *directory; /* for comparison only */
	uint64_t name;		      /* its hash */
};

struct mount {
	struct store *store;
	const struct log *log;
	struct tree tree;
	uid_t uid; /* the owner that is shown */
	gid_t gid;
	struct retry retries[RETRIES]; /* guarded by tree.lock */
	unsigned next_retry;
};

/* Seconds that the kernel may keep a name, and its attributes. */
static const double TIMEOUT_KEPT = 1.0;
static const double TIMEOUT_NONE = 0.0;

/* The store stays the caller's. 0, or a negative errno. */
int mount_init(struct mount *m, struct store *store, uid_t uid, gid_t gid);
/* Publishes what is closed and not published yet, and frees the nodes. */
void mount_free(struct mount *m);

/* Remembers that this thread's open of a name is about to be repeated. */
void retry_note(struct mount *m, pid_t thread, const struct node *directory,
		const char *name);
/* Whether it was; forgets it. */
bool retry_take(struct mount *m, pid_t thread, const struct node *directory,
		const char *name);

/* Counts a process among those who publish or remove in a directory. */
void insider_add(struct mount *m, struct node *directory,
		 const struct process *process);
bool insider_is(struct mount *m, struct node *directory,
		const struct process *process);

#endif
