/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/collector.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/random.h"
#include "fs/store/clock.h"
#include "fs/store/fresh.h"
#include "fs/store/mark.h"
#include "fs/store/state.h"

/* Whether the announcement that is there has been given up. */
static bool is_stale(struct store *store, int64_t patience)
{
	struct timespec now;
	struct stat st;

	fresh_names(store, store->intents);
	if (fstatat(store->intents, COLLECTOR_NAME, &st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return errno == ENOENT;
	return clock_ask(store, &now) == 0 &&
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

int collector_goes_on(const struct collector *collector)
{
	struct stat here, there;

	fresh_names(collector->store, collector->store->intents);
	if (fstatat(collector->store->intents, COLLECTOR_NAME, &there,
		    AT_SYMLINK_NOFOLLOW) < 0 ||
	    fstat(collector->fd, &here) < 0 || here.st_ino != there.st_ino ||
	    here.st_dev != there.st_dev)
		return -ESTALE;
	return futimens(collector->fd, NULL) < 0 ? -errno : 0;
}

void collector_end(struct collector *collector)
{
	if (collector_goes_on(collector) == 0)
		unlinkat(collector->store->intents, COLLECTOR_NAME, 0);
	close(collector->fd);
}
