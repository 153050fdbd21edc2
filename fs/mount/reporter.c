/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/reporter.h"

#include <errno.h>
#include <fcntl.h>
#include <signal.h>
#include <string.h>

#include "fs/fd.h"
#include "fs/log.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/leases.h"

static struct timespec now(void)
{
	struct timespec t;

	clock_gettime(CLOCK_MONOTONIC, &t);
	return t;
}

/*
 * Our file is gone: we slept so long that we were taken for dead, and what we
 * had told is in another. Only what came after it is told from now on.
 */
static void notice_folding(struct reporter *r, int dir, const char *name)
{
	struct stat st;

	if (!r->inode ||
	    (fd_stat_at(dir, name, &st) == 0 && st.st_ino == r->inode))
		return;
	pthread_mutex_lock(&r->lock);
	r->folded = r->written;
	r->was_folded = true;
	pthread_mutex_unlock(&r->lock);
}

/* What is not in another's file. */
static struct report own_report(struct reporter *r, const struct counts *counts)
{
	struct report report = { .active = 1, .counts = *counts };

	pthread_mutex_lock(&r->lock);
	report.mounts = !r->was_folded;
	counts_subtract(&report.counts, &r->folded);
	pthread_mutex_unlock(&r->lock);
	return report;
}

static void note_written(struct reporter *r, int dir, const char *name,
			 const struct counts *counts)
{
	struct stat st;

	r->written = *counts;
	r->when = now();
	if (fd_stat_at(dir, name, &st) == 0)
		r->inode = st.st_ino;
}

static void write_report(struct reporter *r, const struct counts *counts,
			 bool last)
{
	AUTO_CLOSE int dir = reports_open(r->store);
	struct report report;
	char name[REPORT_NAME_SIZE];
	int err = dir < 0 ? dir : 0;

	report_name(r->id, name);
	if (!err) {
		notice_folding(r, dir, name);
		report = own_report(r, counts);
		report.active = !last;
		err = report_write(r->store, dir, name, &report);
	}
	if (!err)
		note_written(r, dir, name, counts);
	else
		log_event(store_log(r->store), LOG_LEVEL_INFO,
			  "cannot write stats/%s: %s", name, strerror(-err));
}

static void tick(struct reporter *r)
{
	struct counts counts = store_counts(r->store);

	if (r->inode && counts_equal(&counts, &r->written) &&
	    now().tv_sec - r->when.tv_sec < REPORT_IDLE_SECONDS)
		return;
	write_report(r, &counts, false);
}

/* Whether it is time to stop. */
static bool sleep_a_while(struct reporter *r)
{
	struct timespec until = now();
	bool stopping;
	int err = 0;

	until.tv_sec += REPORT_SECONDS;
	pthread_mutex_lock(&r->lock);
	while (!r->stopping && !err)
		err = pthread_cond_timedwait(&r->wake, &r->lock, &until);
	stopping = r->stopping;
	pthread_mutex_unlock(&r->lock);
	return stopping;
}

static void *run(void *argument)
{
	struct reporter *r = argument;

	reports_fold(r->store, REPORTS_UNFOLDED);
	do {
		tick(r);
		leases_renew(r->store, LEASE_SECONDS);
		spills_touch(r->spills);
	} while (!sleep_a_while(r));
	return NULL;
}

/* Signals are for the thread that serves. */
static bool start_thread(struct reporter *r)
{
	sigset_t all;
	sigset_t before;
	int err;

	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &before);
	err = pthread_create(&r->thread, NULL, run, r);
	pthread_sigmask(SIG_SETMASK, &before, NULL);
	return !err;
}

void reporter_start(struct reporter *r, struct store *store,
		    struct spills *spills)
{
	pthread_condattr_t attributes;

	*r = (struct reporter){ .store = store, .spills = spills };
	if (random_hex(r->id, REPORT_ID_SIZE - 1) != 0)
		return;
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&r->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	pthread_mutex_init(&r->lock, NULL);
	r->started = true;
	r->threaded = start_thread(r);
}

void reporter_stop(struct reporter *r)
{
	struct counts counts;

	if (!r->started)
		return;
	pthread_mutex_lock(&r->lock);
	r->stopping = true;
	pthread_cond_signal(&r->wake);
	pthread_mutex_unlock(&r->lock);
	if (r->threaded)
		pthread_join(r->thread, NULL);
	counts = store_counts(r->store);
	write_report(r, &counts, true);
	pthread_cond_destroy(&r->wake);
	pthread_mutex_destroy(&r->lock);
	r->started = false;
}

int reporter_sum(struct reporter *r, struct report *sum)
{
	struct counts counts;
	struct report own;
	int err;

	if (!r->started)
		return -ENODATA;
	err = reports_sum(r->store, r->id, sum);
	if (err)
		return err;
	counts = store_counts(r->store);
	own = own_report(r, &counts);
	report_add(sum, &own);
	return 0;
}
