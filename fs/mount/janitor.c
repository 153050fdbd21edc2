/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/janitor.h"

#include <errno.h>
#include <signal.h>
#include <time.h>

#include "fs/store/collect.h"
#include "fs/store/trash.h"

enum { LOOKS = 8, LOOK_SECONDS_MAX = 600 };

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
		.progress = goes_on,
		.context = j,
	};
	struct collect_result result;
	int err = store_collect(j->store, &options, &result);

	if (err && err != -EBUSY && err != -ECANCELED)
		log_event(store_log(j->store), LOG_LEVEL_WARNING,
			  "nothing is collected: %s", result.trouble);
	else if (!err && result.deleted_packs)
		log_event(store_log(j->store), LOG_LEVEL_INFO,
			  "collected %zu packs", result.deleted_packs);
}

static void *run(void *argument)
{
	struct janitor *j = argument;
	unsigned pause = j->seconds / LOOKS + 1;
	size_t before = store_publications(j->store);

	if (pause > LOOK_SECONDS_MAX)
		pause = LOOK_SECONDS_MAX;
	while (!is_told_to_end(j, pause)) {
		size_t now = store_publications(j->store);

		if (now == before && collect_is_due(j->store, j->seconds))
			collect(j);
		before = now;
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
	if (!seconds)
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
