/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/exchange.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/store/fresh.h"
#include "fs/store/moves.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

static int inode_of(const struct fd_draft *draft, ino_t *inode)
{
	struct stat st;

	if (fd_stat_at(draft->tmp, draft->name, &st) < 0)
		return -errno;
	*inode = st.st_ino;
	return 0;
}

static int swap(const struct fd_draft *draft, int dir, const char *name)
{
	if (renameat2(draft->tmp, draft->name, dir, name, RENAME_EXCHANGE) < 0)
		return -errno;
	return 0;
}

/*
 * What is under the draft's name is needed: it was published by somebody. Who
 * goes through intents/ just now may meet neither it there nor a new link to
 * it, so this is told of as the move of a directory is.
 */
static int swap_guarded(struct store *store, const struct fd_draft *draft,
			int dir, const char *name)
{
	int err = moves_begin(store);

	if (err)
		return err;
	err = swap(draft, dir, name);
	moves_end(store);
	return err;
}

/*
 * Puts back what came out, until what comes out is what was put in last: then
 * the name shows the newest there is. Under the draft's name is what is left.
 */
static int put_back(struct store *store, const struct fd_draft *draft, int dir,
		    const char *name, ino_t put)
{
	ino_t out = 0;
	ino_t next = 0;
	int err = inode_of(draft, &out);

	while (!err) {
		err = swap_guarded(store, draft, dir, name);
		if (!err)
			err = inode_of(draft, &next);
		if (err || next == put)
			break;
		put = out;
		out = next;
	}
	/* When the name is gone, so is what it would show. */
	return err && err != -ENOENT ? err : -EAGAIN;
}

static int exchange(const struct version *expected, int dir, const char *name,
		    struct fd_draft *draft)
{
	ino_t put = 0;
	int back;
	int err = inode_of(draft, &put);

	if (!err)
		err = swap(draft, dir, name);
	if (err)
		return err == -ENOENT ? -EAGAIN : err;
	err = version_look_in(expected, draft->tmp, draft->name);
	if (!err)
		return 0; /* closing the draft unlinks it */
	back = put_back(expected->store, draft, dir, name, put);
	if (back != -EAGAIN) /* it may be all there is of what came out */
		draft->name[0] = '\0';
	return back == -EAGAIN ? err : back;
}

int exchange_expected(const struct version *expected, int dir, const char *name,
		      struct fd_draft *draft)
{
	int err;

	fresh_names(expected->store, dir);
	err = version_look(expected, dir, name);
	if (!err)
		err = fd_draft_name(draft);
	if (!err)
		err = exchange(expected, dir, name, draft);
	if (err == -EINVAL || err == -ENOSYS)
		err = fd_draft_replace(draft, dir, name);
	return err;
}

static bool is_hidden(const struct store *store, int dir, const char *name)
{
	struct stat st;

	return fd_stat_at(dir, name, &st) == 0 && !S_ISDIR(st.st_mode) &&
	       !store_vouches(store, &st);
}

static int replace_hidden(struct store *store, int dir, const char *name,
			  struct fd_draft *draft)
{
	ino_t put = 0;
	int err = fd_draft_name(draft);

	if (!err)
		err = inode_of(draft, &put);
	if (!err)
		err = swap(draft, dir, name);
	if (err)
		return err == -ENOENT ? -EEXIST : err;
	if (is_hidden(store, draft->tmp, draft->name))
		return 0; /* closing the draft unlinks it */
	err = put_back(store, draft, dir, name, put);
	return err == -EAGAIN ? -EEXIST : err;
}

int exchange_hidden(struct store *store, int dir, const char *name,
		    struct fd_draft *draft)
{
	int err = fd_draft_link(draft, dir, name);

	if (err != -EEXIST || !is_hidden(store, dir, name))
		return err;
	err = replace_hidden(store, dir, name, draft);
	if (err == -EINVAL || err == -ENOSYS)
		err = fd_draft_replace(draft, dir, name);
	return err;
}
