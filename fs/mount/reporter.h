/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_REPORTER_H
#define TACFS_FS_MOUNT_REPORTER_H

/*
 * Tells the store now and then what this mount has counted, from a thread that
 * mostly sleeps. Nothing depends on it: what cannot be written is left out.
 */

#include <pthread.h>
#include <stdbool.h>
#include <time.h>

#include "fs/mount/spill.h"
#include "fs/store/reports.h"

enum {
	REPORT_SECONDS = 10,	       /* between two, when something changed */
	REPORT_IDLE_SECONDS = 60 * 60, /* and when nothing did */
	REPORTS_UNFOLDED = 64	       /* so many may have ended */
};

struct reporter {
	struct store *store;
	struct spills *spills;
	char id[REPORT_ID_SIZE];
	bool started;
	bool threaded;
	pthread_t thread;
	pthread_mutex_t lock; /* of what follows */
	pthread_cond_t wake;
	bool stopping;
	bool was_folded;      /* what we told stands in another's file now */
	struct counts folded; /* that */
	/* used by the thread, and after it has ended */
	struct counts written; /* what we have told, with `folded` */
	ino_t inode;	       /* of our file; 0 before there is one */
	struct timespec when;
};

/* Without a thread, or without random numbers, less is told. */
void reporter_start(struct reporter *r, struct store *store,
		    struct spills *spills);
/* The last report. Does nothing when it was not started. */
void reporter_stop(struct reporter *r);

/*
 * What all mounts of the store have counted, this one until now. 0, or a
 * negative errno.
 */
int reporter_sum(struct reporter *r, struct report *sum);

#endif
