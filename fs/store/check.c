/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/check.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/blocks.h"
#include "fs/store/check_state.h"
#include "fs/store/clock.h"
#include "fs/store/exchange.h"
#include "fs/store/quarantine.h"
#include "fs/store/state.h"

enum {
	DEPTH_MAX = 200,
	PATH_SIZE_MAX = (DEPTH_MAX + 2) * 256,
	MODE_MAX = 0644, /* of files */
	PAUSE_NSEC = 100 * 1000 * 1000,
	PAUSES_A_FILE = 50,
	PAUSES_MAX = 600
};

void finding_set(struct finding *finding, enum problem_kind kind,
		 const char *format, ...)
{
	va_list args;

	va_start(args, format);
	vsnprintf(finding->what, sizeof(finding->what), format, args);
	va_end(args);
	finding->kind = kind;
}

void check_tell(struct check *c, const char *name, enum problem_kind kind,
		const char *what, bool repaired)
{
	struct problem problem = { .kind = kind,
				   .what = what,
				   .repaired = repaired };
	size_t size = c->path.size;

	writer_string(&c->path, size ? "/" : "");
	writer_string(&c->path, name);
	writer_u8(&c->path, 0);
	problem.path = c->path.err ? name : (const char *)c->path.bytes;
	if (kind == PROBLEM_UNCHECKED) {
		c->counts.unchecked++;
	} else {
		c->counts.problems++;
		c->counts.repaired += repaired;
	}
	c->listener->found(c->listener, &problem);
	writer_cut(&c->path, size);
}

static void tell_unchecked(struct check *c, const char *name, int error)
{
	char what[FINDING_SIZE];

	snprintf(what, sizeof(what), "cannot be looked at: %s",
		 strerror(error));
	check_tell(c, name, PROBLEM_UNCHECKED, what, false);
}

/* What is said of a name that another program has taken away just now. */
static bool is_gone(int error)
{
	return error == ENOENT || error == ENOTDIR || error == ELOOP ||
	       error == ESTALE;
}

static int walk_into(struct check *c, DIR *stream, bool deep,
		     check_visit *visit);

static int visit_name(struct check *c, int dir, const char *name, bool deep,
		      check_visit *visit)
{
	struct spot spot = { .dir = dir, .name = name };
	int err;

	if (fd_stat_at(dir, name, &spot.st) < 0) {
		if (!is_gone(errno))
			tell_unchecked(c, name, errno);
		return 0;
	}
	err = visit(c, &spot);
	if (c->listener->goes_on)
		c->listener->goes_on(c->listener, &c->counts);
	if (err < 0 || err == CHECK_PASS_OVER || !deep ||
	    !S_ISDIR(spot.st.st_mode))
		return err < 0 ? err : 0;
	return check_walk(c, dir, name, deep, visit);
}

/* What NFS keeps of a file that is removed while it is open. */
static bool is_silly(const char *name)
{
	return strncmp(name, ".nfs", 4) == 0;
}

static int walk_into(struct check *c, DIR *stream, bool deep,
		     check_visit *visit)
{
	struct dirent *entry;

	while ((entry = fd_list_next(stream))) {
		int err;

		if (is_silly(entry->d_name))
			continue;
		err = visit_name(c, dirfd(stream), entry->d_name, deep, visit);
		if (err)
			return err;
	}
	return is_gone(errno) ? 0 : -errno;
}

int check_walk(struct check *c, int parent, const char *name, bool deep,
	       check_visit *visit)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	size_t size = c->path.size;
	int err;

	if (!stream || c->depth == DEPTH_MAX) {
		if (stream || !is_gone(errno))
			tell_unchecked(c, name, stream ? ELOOP : errno);
		return 0;
	}
	writer_string(&c->path, size ? "/" : "");
	writer_string(&c->path, name);
	c->depth++;
	err = walk_into(c, stream, deep, visit);
	c->depth--;
	writer_cut(&c->path, size);
	if (!err || err == -ENOMEM)
		return err;
	tell_unchecked(c, name, -err);
	return 0;
}

static int look_now(struct check *c, struct spot *spot, check_look *look,
		    struct finding *finding)
{
	*finding = (struct finding){ .kind = PROBLEM_NONE };
	if (fd_stat_at(spot->dir, spot->name, &spot->st) < 0)
		return 0;
	finding->identity = identity_of(&spot->st);
	return look(c, spot, finding);
}

/*
 * A file that changed a moment ago may be half of what somebody does: wait, as
 * long as a change in the same tick of the clock would not show. A store with
 * many such files, or another clock, does not keep us for ever.
 */
static bool pause_for(struct check *c, const struct finding *finding,
		      unsigned looks)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NSEC };

	if (identity_settled(c->store, &finding->identity) ||
	    looks > PAUSES_A_FILE || c->pauses >= PAUSES_MAX)
		return false;
	c->pauses++;
	nanosleep(&pause, NULL);
	return true;
}

int check_look_twice(struct check *c, const struct spot *spot, check_look *look,
		     struct finding *finding)
{
	struct spot now = *spot;
	unsigned looks = 0;
	int err = look_now(c, &now, look, finding);

	while (!err && finding->kind != PROBLEM_NONE) {
		struct file_identity seen = finding->identity;
		bool paused = pause_for(c, finding, looks);

		err = look_now(c, &now, look, finding);
		looks++;
		if (!paused && (identity_equal(&seen, &finding->identity) ||
				looks > PAUSES_A_FILE))
			break;
	}
	return err;
}

static void tell_kind(struct check *c, const struct spot *spot,
		      const char *what)
{
	struct file_identity identity = identity_of(&spot->st);
	char reason[FINDING_SIZE];
	bool moved;

	snprintf(reason, sizeof(reason), "is no regular file, so it is no %s",
		 what);
	moved = c->options->repair &&
		quarantine_file(c->store, spot->dir, spot->name, &identity,
				"other", reason) == 0;
	check_tell(c, spot->name, PROBLEM_KIND, reason, moved);
}

/* By way of /proc, for a file that must not be followed, nor can be read. */
static bool mend_mode(const struct spot *spot)
{
	AUTO_CLOSE int fd =
		fd_open(spot->dir, spot->name, O_PATH | O_NOFOLLOW, 0);
	mode_t mode = (spot->st.st_mode & MODE_MAX) | 0600;
	char path[FD_LINK_SIZE];
	struct stat st;

	if (fd < 0 || fd_stat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    st.st_ino != spot->st.st_ino)
		return false;
	fd_link(fd, path);
	return chmod(path, mode) == 0;
}

static void tell_mode(struct check *c, const struct spot *spot)
{
	bool mended = c->options->repair && mend_mode(spot);
	char what[FINDING_SIZE];

	snprintf(what, sizeof(what), "its mode %04o is %s",
		 (unsigned)spot->st.st_mode & 07777,
		 spot->st.st_mode & 0400 ? "more than 0644"
					 : "closed to its owner");
	check_tell(c, spot->name, PROBLEM_MODE, what, mended);
}

bool check_expects_others(const struct check *c)
{
	return store_is_shared(c->store) && !c->options->names_only;
}

bool check_attributes(struct check *c, const struct spot *spot,
		      const char *what)
{
	char reason[FINDING_SIZE];

	if (!S_ISREG(spot->st.st_mode)) {
		tell_kind(c, spot, what);
		return false;
	}
	if (!store_trusts(c->store, spot->st.st_uid)) {
		if (check_expects_others(c)) {
			c->counts.others++;
			return false;
		}
		snprintf(reason, sizeof(reason),
			 "its owner, user %u, is not trusted",
			 (unsigned)spot->st.st_uid);
		check_tell(c, spot->name, PROBLEM_UNTRUSTED, reason, false);
		return false;
	}
	if ((spot->st.st_mode & 07777 & ~(mode_t)MODE_MAX) ||
	    !(spot->st.st_mode & 0400))
		tell_mode(c, spot);
	return true;
}

/* Packs first: what is used of them is marked by what comes after. */
static int check_parts(struct check *c)
{
	static int (*const parts[])(struct check *) = {
		check_packs,  check_trash,	check_refs,
		check_drafts, check_quarantine,
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++) {
		int err = parts[i](c);

		if (err)
			return err;
	}
	c->counts.unused_packs = pack_set_count(
		&c->packs, PACK_IS_THERE | PACK_IS_USED, PACK_IS_THERE);
	return 0;
}

int store_check(struct store *store, const struct check_options *options,
		struct check_listener *listener, struct check_counts *counts)
{
	struct check c = {
		.store = store,
		.options = options,
		.listener = listener,
		.path = writer_upto(PATH_SIZE_MAX),
	};
	AUTO_FREE struct check_room *room = malloc(sizeof(*room));
	int err;

	if (!room)
		return -ENOMEM;
	c.room = room;
	store_trust_owner(store);
	if (options->repair)
		exchange_finish_now(store);
	c.begun = clock_now(store);
	err = check_parts(&c);
	pack_set_free(&c.packs);
	writer_free(&c.path);
	*counts = c.counts;
	return err;
}
