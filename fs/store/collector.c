/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/author.h"
#include "fs/store/clock.h"
#include "fs/store/fresh.h"
#include "fs/store/mark.h"
#include "fs/store/state.h"

enum {
	ANNOUNCEMENT_SIZE = 128,
	ENDED_SIZE = 1 /* of an announcement that could not be removed */
};

/* Whether the collector is known to have ended. */
static bool has_died(const struct store *store)
{
	AUTO_CLOSE int fd = fd_open(store->intents, COLLECTOR_NAME,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	char text[ANNOUNCEMENT_SIZE] = "";
	const char *line;

	if (fd < 0 || read(fd, text, sizeof(text) - 1) <= 0)
		return false;
	line = strchr(text, '\n');
	return line && author_has_died(line + 1);
}

/* Whether the announcement that is there has been given up. */
static bool is_stale(struct store *store, int64_t patience)
{
	struct timespec now;
	struct stat st;

	fresh_names(store, store->intents);
	if (fd_stat_at(store->intents, COLLECTOR_NAME, &st) < 0)
		return errno == ENOENT;
	if (st.st_size == ENDED_SIZE || has_died(store))
		return true;
	return clock_ask(store, &now) == 0 &&
	       now.tv_sec - st.st_ctim.tv_sec > patience;
}

static int announce(const struct collector *collector, struct fd_draft *draft)
{
	char text[ANNOUNCEMENT_SIZE], us[AUTHOR_SIZE];
	int err, size;

	author_describe(us);
	size = snprintf(text, sizeof(text), "%s\n%s\n", collector->id, us);
	err = fd_write_at(draft->fd, text, (size_t)size, 0);
	/* On a full disk it is empty, which only says less. */
	if (err && err != -ENOSPC && err != -EDQUOT)
		return err;
	return fd_draft_link(draft, collector->store->intents, COLLECTOR_NAME);
}

int collector_begin(struct store *store, int64_t patience,
		    struct collector *collector)
{
	struct collector made = { .store = store };
	struct fd_draft draft = { .fd = -1 };
	int err = random_hex(made.id, sizeof(made.id) - 1);

	if (!err)
		err = fd_draft_open(store->tmp, store->file_mode, &draft);
	if (!err)
		err = announce(&made, &draft);
	if (err == -EEXIST && is_stale(store, patience)) {
		unlinkat(store->intents, COLLECTOR_NAME, 0);
		err = announce(&made, &draft);
	}
	if (err) {
		fd_draft_close(&draft);
		return err == -EEXIST ? -EBUSY : err;
	}
	made.fd =
		draft.fd; /* it has its name, so only the descriptor is left */
	*collector = made;
	return 0;
}

/* Whether the announcement that is there is ours: 0, -ESTALE, or an errno. */
static int look_at_own(const struct collector *collector)
{
	struct stat here, there;

	fresh_names(collector->store, collector->store->intents);
	if (fd_stat_at(collector->store->intents, COLLECTOR_NAME, &there) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (fd_stat(collector->fd, &here) < 0)
		return -errno;
	return here.st_ino == there.st_ino && here.st_dev == there.st_dev
		       ? 0
		       : -ESTALE;
}

int collector_goes_on(const struct collector *collector)
{
	int err = look_at_own(collector);

	if (!err && futimens(collector->fd, NULL) < 0)
		err = -errno;
	return err;
}

/*
 * What cannot be looked at is taken for ours, so that nobody waits for it; if
 * it is another's, that one only ends early.
 */
void collector_end(struct collector *collector)
{
	int err = 0;

	if (look_at_own(collector) != -ESTALE)
		err = unlinkat(collector->store->intents, COLLECTOR_NAME, 0);
	/* Its size says that it has ended, too. */
	if (err && ftruncate(collector->fd, ENDED_SIZE) < 0)
		log_event(collector->store->log, LOG_LEVEL_WARNING,
			  "cannot take intents/" COLLECTOR_NAME
			  " away: the next collector waits for it");
	close(collector->fd);
}
