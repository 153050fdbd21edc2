/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_ENDING_H
#define TACFS_FS_MOUNT_ENDING_H

/*
 * The end of a mount that SIGTERM, SIGINT or SIGHUP asks for. Nobody gets to
 * the mount any more, at once, even if it is busy. Who has something open there
 * is served for some seconds yet, and may close it; a second signal ends that.
 */

#include <pthread.h>
#include <signal.h>
#include <stdatomic.h>
#include <stdbool.h>

struct fuse_session;

enum { ENDING_SECONDS = 3 };

struct ending {
	sigset_t signals; /* those that are not ignored, and ours */
	int caretaker;
	pthread_t thread;
	bool started;
	struct fuse_session *session;
	const char *mountpoint;
	long mount_id;
	pthread_t server;
	bool left;	    /* nobody finds the mount any more */
	atomic_bool served; /* the server has ended, for whatever reason */
	atomic_bool cut;    /* by us, though not all was closed */
};

/*
 * Keeps the signals for ending_start(), in this thread and those that it makes
 * from now on. The caretaker's descriptor is borrowed, and may be -1.
 */
void ending_prepare(struct ending *e, int caretaker);

/*
 * Waits for the signals, in a thread, while the caller serves the session. The
 * mount point is borrowed. 0, or a negative errno.
 */
int ending_start(struct ending *e, struct fuse_session *session,
		 const char *mountpoint);

/*
 * The caller has ended to serve. Whether a signal had asked for it while there
 * were open files. What is mounted at the mount point now stays there.
 */
bool ending_stop(struct ending *e);

#endif
