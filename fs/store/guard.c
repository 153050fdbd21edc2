/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/store/collector.h"
#include "fs/store/fresh.h"
#include "fs/store/moves.h"
#include "fs/store/state.h"

enum { ATTEMPTS = 4 };

static const char draft[] = "draft-";
static const char left[] = "left-";

bool guard_name_is_left(const char *name)
{
	return strncmp(name, left, sizeof(left) - 1) == 0;
}

bool guard_drop_left(const struct store *store, const char *name)
{
	char link[FD_DRAFT_NAME_SIZE];

	if (!guard_name_is_left(name))
		return false;
	snprintf(link, sizeof(link), "%s%s", draft, name + sizeof(left) - 1);
	if (fd_draft_name_is(link))
		unlinkat(store->intents, link, 0);
	unlinkat(store->intents, name, 0);
	return true;
}

/* In a shared store each user announces where only he can. */
bool guard_is_needed(const struct store *store)
{
	if (store_is_shared(store))
		return true;
	fresh_names(store, store->intents);
	return faccessat(store->intents, COLLECTOR_NAME, F_OK,
			 AT_SYMLINK_NOFOLLOW) == 0 ||
	       errno != ENOENT;
}

static int link_manifest(struct guard *guard, int dir, const char *name)
{
	char link[FD_DRAFT_NAME_SIZE];

	for (int i = 0; i < ATTEMPTS; i++) {
		int err = fd_draft_new_name(link);

		if (err)
			return err;
		if (linkat(dir, name, guard->store->intents, link, 0) == 0) {
			memcpy(guard->link, link, sizeof(link));
			return 0;
		}
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

int guard_begin(struct store *store, int dir, const char *name,
		struct guard *guard)
{
	struct stat st;
	int err = -EPERM;

	*guard = (struct guard){ .store = store };
	if (fd_stat_at(dir, name, &st) < 0)
		return -errno;
	if (S_ISREG(st.st_mode))
		err = link_manifest(guard, dir, name);
	if (!err || err == -ENOENT)
		return err;
	/* A directory, or a file system without links. */
	err = moves_begin(store);
	guard->moves = !err;
	return err;
}

/*
 * Not by a new name for the link: who reads the directory just now might meet
 * neither.
 */
static void leave(const struct guard *guard)
{
	char name[FD_DRAFT_NAME_SIZE];
	int dir = guard->store->intents;

	snprintf(name, sizeof(name), "%s%s", left,
		 guard->link + sizeof(draft) - 1);
	if (linkat(dir, guard->link, dir, name, 0) < 0)
		return; /* it goes with the drafts that are given up */
}

void guard_end(struct guard *guard)
{
	if (guard->moves)
		moves_end(guard->store);
	if (!guard->link[0])
		return;
	if (guard_is_needed(guard->store))
		leave(guard);
	else
		unlinkat(guard->store->intents, guard->link, 0);
}
