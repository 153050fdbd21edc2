/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/exchange.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/collect.h"
#include "fs/store/collector.h"
#include "fs/store/durable.h"
#include "fs/store/exchange_note.h"
#include "fs/store/fresh.h"
#include "fs/store/moves.h"
#include "fs/store/place.h"
#include "fs/store/state.h"
#include "fs/store/version_state.h"

/* A manifest ends with its digest. Zero for what is none. */
static int digest_of_file(int fd, struct digest *digest)
{
	struct stat st;

	*digest = (struct digest){ { 0 } };
	if (fd_stat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size < DIGEST_SIZE)
		return 0;
	return fd_read_at(fd, digest, sizeof(*digest),
			  (uint64_t)st.st_size - DIGEST_SIZE);
}

/* Zero also for what is closed to us, or no file. */
static int digest_in(int dir, const char *name, struct digest *digest)
{
	AUTO_CLOSE int fd = fd_open(
		dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY, 0);

	if (fd >= 0)
		return digest_of_file(fd, digest);
	*digest = (struct digest){ { 0 } };
	return errno == EACCES || errno == ELOOP || errno == ENXIO ? 0 : -errno;
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
 * Whether the name has to be given back what came out. What is not in the note
 * was published after what is, by somebody who did not know of the exchange.
 */
static bool is_due(const struct exchange_note *note, const struct digest *shown,
		   const struct digest *out)
{
	static const struct digest none;
	bool shows_older = digest_equal(shown, &note->older);
	bool shows_newer = digest_equal(shown, &note->newer);

	if (digest_equal(shown, &none)) /* no file, or a stranger's */
		return false;
	if (digest_equal(out, &none))
		return shows_newer && !digest_equal(&note->older, &none);
	if (digest_equal(out, &note->newer))
		return note->ordered && shows_older;
	return !digest_equal(out, &note->older) && (shows_older || shows_newer);
}

/* Says in the note which is newer, and exchanges them. */
static int swap_back(struct store *store, struct exchange_note *note,
		     const struct fd_draft *draft, int dir, const char *name,
		     const struct digest *shown, const struct digest *out)
{
	note->older = *shown;
	note->newer = *out;
	note->ordered = true;
	exchange_note_change(note);
	return swap_guarded(store, draft, dir, name);
}

/*
 * Puts back what came out, until the name shows the newest there is. Under the
 * draft's name is what is left. What was published may have been on disk, and
 * so it is again.
 */
static int put_back(struct store *store, struct exchange_note *note,
		    const struct fd_draft *draft, int dir, const char *name)
{
	struct digest out, shown;
	int err;

	for (;;) {
		err = digest_in(draft->tmp, draft->name, &out);
		if (!err)
			err = digest_in(dir, name, &shown);
		if (err || !is_due(note, &shown, &out))
			break;
		err = swap_back(store, note, draft, dir, name, &shown, &out);
		if (!err)
			err = durable_all(store);
		if (err)
			break;
	}
	/* When the name is gone, so is what it would show. */
	return err == -ENOENT ? 0 : err;
}

static bool is_hidden(const struct store *store, int dir, const char *name)
{
	struct stat st;

	return fd_stat_at(dir, name, &st) == 0 && !S_ISDIR(st.st_mode) &&
	       !store_vouches(store, &st);
}

/* 0 when it is what was to be replaced: a version, or NULL for what is hidden.
 */
static int judge(struct store *store, const struct version *expected,
		 const struct fd_draft *draft)
{
	if (expected)
		return version_look_in(expected, draft->tmp, draft->name);
	return is_hidden(store, draft->tmp, draft->name) ? 0 : -EAGAIN;
}

static int swap_noted(struct store *store, const struct version *expected,
		      int dir, const char *name, struct fd_draft *draft,
		      struct exchange_note *note)
{
	int back;
	int err = swap(draft, dir, name);

	if (err)
		return err;
	err = judge(store, expected, draft);
	if (!err)
		return 0; /* closing the draft unlinks it */
	back = put_back(store, note, draft, dir, name);
	if (!back)
		return err;
	/* Others will try: it may be all there is of what came out. */
	draft->name[0] = '\0';
	exchange_note_leave(store);
	return back;
}

static int exchange(struct store *store, const struct version *expected,
		    int dir, const char *name, struct fd_draft *draft)
{
	struct exchange_note note = { .fd = -1 };
	int err = fd_draft_name(draft);

	if (!err)
		err = digest_of_file(draft->fd, &note.newer);
	if (err)
		return err;
	if (expected)
		memcpy(&note.older,
		       expected->bytes + expected->size - sizeof(note.older),
		       sizeof(note.older));
	else
		err = digest_in(dir, name, &note.older);
	if (err)
		return err == -ENOENT ? -EAGAIN : err;
	if (!store->keeps_names) /* network file systems exchange nothing */
		exchange_note_begin(store, draft->name, dir, name, &note);
	err = swap_noted(store, expected, dir, name, draft, &note);
	return err == -ENOENT ? -EAGAIN : err;
}

int exchange_expected(const struct version *expected, int dir, const char *name,
		      struct fd_draft *draft)
{
	int err;

	fresh_names(expected->store, dir);
	err = version_look(expected, dir, name);
	if (!err)
		err = exchange(expected->store, expected, dir, name, draft);
	if (err == -EINVAL || err == -ENOSYS)
		err = fd_draft_replace(draft, dir, name);
	return err;
}

int exchange_hidden(struct store *store, int dir, const char *name,
		    struct fd_draft *draft)
{
	int err = fd_draft_link(draft, dir, name);

	if (err != -EEXIST || !is_hidden(store, dir, name))
		return err;
	err = exchange(store, NULL, dir, name, draft);
	if (err == -EINVAL || err == -ENOSYS)
		err = fd_draft_replace(draft, dir, name);
	return err == -EAGAIN ? -EEXIST : err;
}

/* What has no place any more is not missed. */
static int put_back_for(struct store *store, struct exchange_note *note)
{
	struct fd_draft draft = { .fd = -1, .tmp = store->intents };
	const char *name;
	AUTO_CLOSE int dir = place_open_parent(store->root, note->path, &name);

	memcpy(draft.name, note->draft, sizeof(draft.name));
	if (dir < 0)
		return dir == -ENOENT || dir == -ENOTDIR ? 0 : dir;
	fresh_names(store, dir);
	return put_back(store, note, &draft, dir, name);
}

/*
 * Only tells that there is something to be done if `found` is given. What
 * cannot be done now is left for later, until it expires: it is no reason not
 * to collect, and who lives does it himself.
 */
static void finish(struct store *store, const char *name, int64_t patience,
		   bool *found)
{
	struct exchange_note note;
	int err = exchange_note_read(store, name, patience, &note);

	if (err)
		return;
	if (found)
		*found = true;
	else
		err = put_back_for(store, &note);
	close(note.fd);
	if (!err && !found &&
	    (unlinkat(store->intents, note.draft, 0) == 0 || errno == ENOENT))
		unlinkat(store->intents, name, 0);
}

static int finish_all(struct store *store, int64_t patience, bool *found)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(store->intents, ".");
	struct dirent *entry;

	if (!stream)
		return -errno;
	while ((entry = fd_list_next(stream)))
		if (exchange_note_name_is(entry->d_name))
			finish(store, entry->d_name, patience, found);
	return -errno;
}

int exchange_finish(struct store *store, int64_t patience)
{
	return finish_all(store, patience, NULL);
}

void exchange_finish_now(struct store *store)
{
	struct collector collector;
	bool found = false;

	if (store->read_only || !store_can_collect(store) ||
	    finish_all(store, COLLECT_INTENT_SECONDS, &found) || !found ||
	    collector_begin(store, COLLECTOR_STALE_SECONDS, &collector))
		return;
	(void)exchange_finish(store, COLLECT_INTENT_SECONDS);
	collector_end(&collector);
}
