/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/janitor.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "fs/store/collect.h"
#include "fs/store/room.h"
#include "fs/store/trash.h"

enum { LOOKS = 8, LOOK_SECONDS_MAX = 600, ROOM_SECONDS = 2 };

/* Waits; true when it is time to end. */
static bool is_told_to_end(struct janitor *j, unsigned seconds)
{
	struct timespec until;
	bool ends;

	clock_gettime(CLOCK_MONOTONIC, &until);
	until.tv_sec += seconds;
	pthread_mutex_lock(&j->lock);
	while (!j->ends && seconds &&
	       pthread_cond_timedwait(&j->wake, &j->lock, &until) != ETIMEDOUT)
		;
	ends = j->ends;
	pthread_mutex_unlock(&j->lock);
	return ends;
}

static bool goes_on(void *context, size_t files)
{
	(void)files;
	return !is_told_to_end(context, 0);
}

static void collect(struct janitor *j)
{
	const struct collect_options options = {
		.grace = COLLECT_GRACE_SECONDS,
		.keep = TRASH_SECONDS,
		.intents = COLLECT_INTENT_SECONDS,
		.rewrite = COLLECT_REWRITE_PERCENT,
		.progress = goes_on,
		.context = j,
	};
	struct collect_result result;
	int err = store_collect(j->store, &options, &result);

	if (err && err != -EBUSY && err != -ECANCELED)
		log_event(store_log(j->store), LOG_LEVEL_WARNING,
			  "nothing is collected: %s", result.trouble);
	else if (!err && result.not_rewritten[0])
		log_event(store_log(j->store), LOG_LEVEL_WARNING,
			  "packs are not rewritten: %s", result.not_rewritten);
	if (!err && result.rewritten_packs)
		log_event(store_log(j->store), LOG_LEVEL_INFO,
			  "rewrote %zu packs", result.rewritten_packs);
	if (!err && result.deleted_packs)
		log_event(store_log(j->store), LOG_LEVEL_INFO,
			  "collected %zu packs", result.deleted_packs);
}

static void keep_room(struct janitor *j)
{
	int err = store_keep_room(j->store, goes_on, j);

	if (err && err != -EBUSY && err != -ECANCELED)
		log_event(store_log(j->store), LOG_LEVEL_WARNING,
			  "nothing is evicted: errno %d", -err);
}

static void look(struct janitor *j, size_t *before)
{
	size_t now = store_publications(j->store);

	if (now == *before && collect_is_due(j->store, j->seconds))
		collect(j);
	*before = now;
}

static unsigned pause_of(unsigned seconds)
{
	unsigned pause = seconds / LOOKS + 1;

	return pause > LOOK_SECONDS_MAX ? LOOK_SECONDS_MAX : pause;
}

/* Room is looked after more often than what can be collected. */
static void *run(void *argument)
{
	struct janitor *j = argument;
	bool bounded = store_is_bounded(j->store);
	unsigned pause = pause_of(j->seconds);
	unsigned step = bounded && pause > ROOM_SECONDS ? ROOM_SECONDS : pause;
	size_t before = store_publications(j->store);
	unsigned waited = 0;

	while (!is_told_to_end(j, step)) {
		if (bounded)
			keep_room(j);
		waited += step;
		if (j->seconds && waited >= pause) {
			look(j, &before);
			waited = 0;
		}
	}
	return NULL;
}

/* Signals are for the thread that serves. */
void janitor_start(struct janitor *janitor, struct store *store,
		   unsigned seconds)
{
	pthread_condattr_t attributes;
	sigset_t all, old;

	*janitor = (struct janitor){ .store = store, .seconds = seconds };
	if (!seconds && !store_is_bounded(store))
		return;
	pthread_mutex_init(&janitor->lock, NULL);
	pthread_condattr_init(&attributes);
	pthread_condattr_setclock(&attributes, CLOCK_MONOTONIC);
	pthread_cond_init(&janitor->wake, &attributes);
	pthread_condattr_destroy(&attributes);
	sigfillset(&all);
	pthread_sigmask(SIG_SETMASK, &all, &old);
	janitor->runs =
		pthread_create(&janitor->thread, NULL, run, janitor) == 0;
	pthread_sigmask(SIG_SETMASK, &old, NULL);
}

void janitor_stop(struct janitor *janitor)
{
	if (!janitor->runs)
		return;
	pthread_mutex_lock(&janitor->lock);
	janitor->ends = true;
	pthread_cond_signal(&janitor->wake);
	pthread_mutex_unlock(&janitor->lock);
	pthread_join(janitor->thread, NULL);
	janitor->runs = false;
}
