/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_MOUNT_H
#define TACFS_FS_MOUNT_MOUNT_H

/*
 * One mount: a store, the nodes that the kernel knows, and the view in which it
 * is shown. Everything that answers requests is given one of these.
 */

#include <errno.h>
#include <stdatomic.h>

#include "fs/log.h"
#include "fs/mount/hides.h"
#include "fs/mount/node.h"
#include "fs/mount/reporter.h"
#include "fs/store/store.h"

enum { RETRIES = 1024, KEPT = 64, RETRY_SECONDS = 2 };

/*
 * A thread whose request about a name was answered with ESTALE. The kernel then
 * walks the path anew and repeats the request, but only once: the second must
 * not fail so. What it was given on that walk was right after the first answer,
 * and that will do even when it has been replaced again. When the thread comes
 * back with the same node, and looked nothing up, it follows a link of
 * /proc/PID/fd. When it looked up something else, its walk has failed, and this
 * is another request.
 */
struct retry {
	pid_t thread;
	uint64_t name;		 /* its hash */
	const struct node *node; /* for comparison only */
	uint64_t asked;		 /* tree.clock then */
	time_t until;		 /* it is not repeated later than that */
	bool writes;		 /* what it is to find is a private version */
	bool walked;		 /* it has looked up a name since */
};

struct mount {
	struct store *store;
	const struct log *log;
	struct tree tree;
	bool read_only; /* as the store is */
	bool strict;	/* foreign artifacts are not served */
	struct scratches
		scratches; /* in_memory: what does not fit stays here */
	struct hides hides;
	uid_t uid; /* the owner that is shown */
	gid_t gid;
	bool ids_are_whole;    /* ids.h */
	struct handle *newest; /* of all handles; guarded by tree.lock */
	size_t locks;	       /* on directories; guarded by tree.lock */
	size_t lock_limit;
	struct node *kept[KEPT]; /* held; unsound private versions, by age;
				    guarded by tree.lock */
	struct reporter reporter;
	struct timespec started;       /* by the wall clock */
	struct retry retries[RETRIES]; /* by thread; guarded by tree.lock */
};

/*
 * Seconds that the kernel may keep a name, and its attributes. Directories are
 * looked up on every walk: one that another mount has removed, and made again,
 * would else swallow what is written to it.
 */
static const double TIMEOUT_KEPT = 1.0;
static const double TIMEOUT_NONE = 0.0;

/* The store stays the caller's. 0, or a negative errno. */
int mount_init(struct mount *m, struct store *store, uid_t uid, gid_t gid);
/*
 * Publishes what is closed and not published yet, frees the nodes, and stops
 * the reporter, if it was started. `closed`
 * says that every file is: the kernel has unmounted.
 */
void mount_free(struct mount *m, bool closed);

/* Whether a publication that failed so is given up without an error. */
static inline bool mount_drops(const struct mount *m, int err)
{
	return m->scratches.in_memory &&
	       (err == -ENOSPC || err == -EDQUOT || err == -EFBIG);
}

/* Returns -ESTALE, so that the kernel repeats this thread's request. */
int retry_ask(struct mount *m, pid_t thread, const char *name,
	      const struct node *node, bool writes);
enum retried {
	RETRIED_NOT,
	RETRIED_WALK, /* the kernel was given the node on its new walk */
	RETRIED_SAME  /* it had the node before: there was no walk */
};

/* This thread looks a name up: its walk has begun. */
void retry_walk(struct mount *m, pid_t thread);

/* Whether this is such a repeated request. Forgets the first one. */
enum retried retry_take(struct mount *m, pid_t thread, const char *name,
			const struct node *node);
/* Whether this thread's new walk is to find a private version. */
bool retry_writes(struct mount *m, pid_t thread, const char *name);

/* From now on this process sees these names (enum insight) there. */
void insider_add(struct mount *m, struct node *directory,
		 const struct process *process, unsigned sees);
bool insider_sees(struct mount *m, struct node *directory,
		  const struct process *process, enum insight what);

#endif
