/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/quarantine.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "codec/writer.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/fresh.h"
#include "fs/store/state.h"
#include "fs/store/tally.h"

enum { NAME_SIZE = 64, DIGITS = 16, REASON_MAX = 4 * PATH_MAX };

/* <utc-stamp>-<random>.<kind> */
static int new_name(const char *kind, char name[NAME_SIZE])
{
	char stamp[24];
	char digits[DIGITS + 1];
	time_t now = time(NULL);
	struct tm utc;
	int err = random_hex(digits, DIGITS);

	if (err)
		return err;
	if (!gmtime_r(&now, &utc) ||
	    !strftime(stamp, sizeof(stamp), "%Y%m%dT%H%M%SZ", &utc))
		return -EOVERFLOW;
	snprintf(name, NAME_SIZE, "%s-%s.%s", stamp, digits, kind);
	return 0;
}

/* The path of `name` in `dir`, as far as it is known; for people to read. */
static void describe_place(int dir, const char *name, char place[PATH_MAX])
{
	size_t size;

	(void)fd_path(dir, place);
	size = strlen(place);
	snprintf(place + size, PATH_MAX - size, "%s%s", size ? "/" : "", name);
}

static void write_reason(const struct store *store, const char *name,
			 const char *place, const char *reason)
{
	struct writer text = writer_upto(REASON_MAX);
	char reason_name[NAME_SIZE + sizeof(".reason")];
	AUTO_CLOSE int fd = -1;

	snprintf(reason_name, sizeof(reason_name), "%s.reason", name);
	writer_string(&text, "place: ");
	writer_string(&text, place);
	writer_string(&text, "\nreason: ");
	writer_string(&text, reason);
	writer_string(&text, "\n");
	fd = fd_open(store->quarantine, reason_name,
		     O_WRONLY | O_CREAT | O_EXCL, store->file_mode);
	if (fd < 0 || text.err ||
	    fd_write_at(fd, text.bytes, text.size, 0) != 0)
		log_event(store->log, LOG_LEVEL_WARNING,
			  "cannot write the reason of quarantine/%s", name);
	writer_free(&text);
}

static bool is_still(int dir, const char *name,
		     const struct file_identity *judged, bool by_inode)
{
	struct file_identity now;
	struct stat st;

	if (fd_stat_at(dir, name, &st) < 0)
		return false;
	now = identity_of(&st);
	return by_inode ? identity_same_file(&now, judged)
			: identity_equal(&now, judged);
}

/*
 * The name was given to another file between the look and the move. That one
 * goes back, unless a still newer one has the name, which would have replaced
 * it.
 */
static void put_back(const struct store *store, const char *moved, int dir,
		     const char *name)
{
	if (fd_move_new(store->quarantine, moved, dir, name) == -EEXIST)
		unlinkat(store->quarantine, moved, 0);
}

static void condemn(const struct store *store, int dir, const char *name,
		    const struct file_identity *judged, const char *reason)
{
	char place[PATH_MAX];

	if (!condemned_add(store->condemned, judged))
		return;
	describe_place(dir, name, place);
	log_event(store->log, LOG_LEVEL_WARNING,
		  "%s is damaged (%s): not served, and left where it is, since "
		  "the store is read-only",
		  place, reason);
}

int quarantine_file(struct store *store, int dir, const char *name,
		    const struct file_identity *judged, const char *kind,
		    const char *reason)
{
	char place[PATH_MAX];
	char moved[NAME_SIZE];
	int err;

	fresh_names(store, dir);
	if (store->keep_damaged || !is_still(dir, name, judged, false))
		return 0;
	if (store->read_only) {
		condemn(store, dir, name, judged, reason);
		return 0;
	}
	err = new_name(kind, moved);
	if (!err && renameat(dir, name, store->quarantine, moved) < 0)
		err = errno == ENOENT ? -ENOENT : -errno;
	if (err == -ENOENT)
		return 0; /* somebody else has moved it */
	describe_place(dir, name, place);
	if (err) {
		log_event(store->log, LOG_LEVEL_ERROR,
			  "%s is damaged (%s) and cannot be moved away: %s",
			  place, reason, strerror(-err));
		return err;
	}
	if (!is_still(store->quarantine, moved, judged, true)) {
		put_back(store, moved, dir, name);
		return 0;
	}
	tally_damaged(store, dir, name, kind);
	write_reason(store, moved, place, reason);
	log_event(store->log, LOG_LEVEL_WARNING,
		  "%s is damaged (%s): moved to quarantine/%s", place, reason,
		  moved);
	return 0;
}
