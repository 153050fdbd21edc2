/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/leases.h"

#include <fcntl.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/store/state.h"
#include "fs/store/version_state.h"

static time_t passed(void)
{
	struct timespec now;

	clock_gettime(CLOCK_MONOTONIC, &now);
	return now.tv_sec;
}

void leases_init(struct leases *leases)
{
	*leases = (struct leases){ .newest = NULL };
	pthread_mutex_init(&leases->lock, NULL);
}

void leases_free(struct leases *leases)
{
	pthread_mutex_destroy(&leases->lock);
}

void lease_begin(struct store *store, struct lease *lease,
		 const struct version *v)
{
	struct leases *leases = &store->leases;

	*lease = (struct lease){ .v = v, .since = passed() };
	if (!store->keeps_names || store->read_only ||
	    !v->manifest.pack_count) {
		lease->v = NULL;
		return;
	}
	pthread_mutex_lock(&leases->lock);
	lease->older = leases->newest;
	if (lease->older)
		lease->older->newer = lease;
	leases->newest = lease;
	pthread_mutex_unlock(&leases->lock);
}

void lease_end(struct store *store, struct lease *lease)
{
	struct leases *leases = &store->leases;

	if (!lease->v)
		return;
	pthread_mutex_lock(&leases->lock);
	*(lease->newer ? &lease->newer->older : &leases->newest) = lease->older;
	if (lease->older)
		lease->older->newer = lease->newer;
	pthread_mutex_unlock(&leases->lock);
	if (lease->name[0])
		unlinkat(store->intents, lease->name, 0);
	lease->v = NULL;
}

static bool touch(const struct store *store, const struct lease *lease)
{
	return lease->name[0] && utimensat(store->intents, lease->name, NULL,
					   AT_SYMLINK_NOFOLLOW) == 0;
}

/* When it fails, it is tried again at the next renewal. */
static void lay(const struct store *store, struct lease *lease)
{
	struct fd_draft draft = { .fd = -1 };
	int err = fd_draft_open(store->intents, store->file_mode, &draft);

	lease->name[0] = '\0';
	if (err)
		return;
	err = fd_write_at(draft.fd, lease->v->bytes, lease->v->size, 0);
	if (!err)
		err = fd_draft_name(&draft);
	if (!err) {
		memcpy(lease->name, draft.name, sizeof(lease->name));
		draft.name[0] = '\0'; /* it is to stay */
	}
	fd_draft_close(&draft);
}

void leases_renew(struct store *store, unsigned seconds)
{
	struct leases *leases = &store->leases;
	time_t now = passed();

	pthread_mutex_lock(&leases->lock);
	for (struct lease *l = leases->newest; l; l = l->older) {
		if (now - l->since < (time_t)seconds)
			continue;
		if (!touch(store, l))
			lay(store, l);
		l->since = now;
	}
	pthread_mutex_unlock(&leases->lock);
}
