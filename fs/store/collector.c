/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/random.h"
#include "fs/store/mark.h"
#include "fs/store/state.h"

/* Whether the announcement that is there has been given up. */
static bool is_stale(struct store *store, int64_t patience)
{
	struct timespec now;
	struct stat st;

	if (fstatat(store->intents, COLLECTOR_NAME, &st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return errno == ENOENT;
	if (!st.st_size)
		return true;
	return mark_now(store, &now) == 0 &&
	       now.tv_sec - st.st_ctim.tv_sec > patience;
}

static int announce(const struct collector *collector, struct fd_draft *draft)
{
	int err = fd_write_at(draft->fd, collector->id,
			      sizeof(collector->id) - 1, 0);

	return err ? err
		   : fd_draft_link(draft, collector->store->intents,
				   COLLECTOR_NAME);
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

	if (fstatat(collector->store->intents, COLLECTOR_NAME, &there,
		    AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? -ESTALE : -errno;
	if (fstat(collector->fd, &here) < 0)
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
	if (err) /* an empty one has ended, too */
		err = ftruncate(collector->fd, 0);
	close(collector->fd);
}
