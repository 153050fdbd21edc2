/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/evicted.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/clock.h"
#include "fs/store/durable.h"
#include "fs/store/mark.h"
#include "fs/store/place.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"

enum { DIGITS = 16, NAME_SIZE = 8 + DIGITS + 1, ROUNDS = 8 };

static const char suffix[] = ".path";

/* One that is moved, and what of it is too young to go. */
struct passage {
	struct leaving *leaving;
	struct timespec before; /* files that changed later go back */
	char path[PATH_MAX];	/* below refs/; empty when nobody knows */
};

bool evicted_is_in_use(int dir)
{
	if (flock(dir, LOCK_EX | LOCK_NB) == 0) {
		flock(dir, LOCK_UN);
		return false;
	}
	return errno == EWOULDBLOCK;
}

bool evicted_has(const struct store *store, int dir)
{
	static const char there[] = "trash/evicted/";
	char place[PATH_MAX];

	return place_of(store, dir, place) == 0 &&
	       strncmp(place, there, sizeof(there) - 1) == 0;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* What has a newer version at its path, or no path, is not missed. */
static int bring_back(struct passage *p, int dir, const char *name)
{
	struct store *store = p->leaving->store;
	char path[PATH_MAX];
	int err;

	if (!p->path[0] || (size_t)snprintf(path, sizeof(path), "%s/%s",
					    p->path, name) >= sizeof(path))
		err = -EEXIST;
	else
		err = trash_move_back(store, dir, name, store->refs, path);
	if (err == -EEXIST)
		err = unlinkat(dir, name, 0) < 0 ? -errno : 0;
	return err == -ENOENT ? 0 : err;
}

static int clear_directory(struct passage *p, int parent, const char *name);

/* A directory that was made in it meanwhile: what is in that is young. */
static int clear_below(struct passage *p, int dir, const char *name)
{
	struct timespec before = p->before;
	size_t size = strlen(p->path);
	int err;

	p->before = (struct timespec){ 0 };
	if (size)
		snprintf(p->path + size, sizeof(p->path) - size, "/%s", name);
	err = clear_directory(p, dir, name);
	p->path[size] = '\0';
	p->before = before;
	return err;
}

static int clear_entry(struct passage *p, int dir, const char *name)
{
	struct leaving *leaving = p->leaving;
	struct stat st;

	if (fd_stat_at(dir, name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return clear_below(p, dir, name);
	if (!is_before(&st.st_ctim, &p->before))
		return bring_back(p, dir, name);
	if (S_ISREG(st.st_mode))
		gain_add(leaving->store, &leaving->gain, dir, name);
	if (unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	leaving->files += S_ISREG(st.st_mode);
	return 0;
}

static int clear_entries(struct passage *p, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return -errno;
	while (!err && (entry = fd_list_next(stream)))
		err = clear_entry(p, dirfd(stream), entry->d_name);
	return err ? err : -errno;
}

/* Somebody may publish into it as long as it is there. */
static int clear_directory(struct passage *p, int parent, const char *name)
{
	int err = 0;

	for (int i = 0; i < ROUNDS && !err; i++) {
		err = clear_entries(p, parent, name);
		if (err)
			break;
		if (unlinkat(parent, name, AT_REMOVEDIR) == 0)
			return 0;
		if (errno != ENOTEMPTY && errno != EEXIST)
			err = -errno;
	}
	return err == -ENOENT ? 0 : err;
}

/* Directories above `path` that are empty now; a namespace stays. */
static void prune(const struct store *store, const char *path)
{
	char above[PATH_MAX];
	char *end;

	snprintf(above, sizeof(above), "%s", path);
	while ((end = strrchr(above, '/'))) {
		AUTO_CLOSE int parent = -1;
		AUTO_CLOSE int dir = -1;
		const char *name;

		*end = '\0';
		if (!strchr(above, '/'))
			return;
		parent = place_open_parent(store->refs, above, &name);
		dir = parent < 0 ? -1 : fd_open_list(parent, name);
		if (dir < 0 || evicted_is_in_use(dir) ||
		    unlinkat(parent, name, AT_REMOVEDIR) < 0)
			return;
	}
}

/* Where it was, should we be killed. A disk may be too full even for that. */
static int note_path(const struct store *store, const char *path,
		     char name[NAME_SIZE])
{
	char note[NAME_SIZE + sizeof(suffix)];
	int err = store_make_dir(store, store->trash, "evicted");

	memcpy(name, "evicted/", sizeof("evicted/"));
	if (!err)
		err = random_hex(name + 8, DIGITS);
	if (err)
		return err;
	snprintf(note, sizeof(note), "%s%s", name, suffix);
	if (symlinkat(path, store->trash, note) == 0 || errno == ENOSPC ||
	    errno == EDQUOT)
		return 0;
	return -errno;
}

static bool is_gone(const struct store *store, const char *name)
{
	return faccessat(store->trash, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0;
}

static void drop_note(const struct store *store, const char *name)
{
	char note[NAME_SIZE + sizeof(suffix)];

	snprintf(note, sizeof(note), "%s%s", name, suffix);
	unlinkat(store->trash, note, 0);
}

/* That it was moved is on disk before any of it goes. */
static int settle_move(const struct store *store)
{
	AUTO_CLOSE int dir = fd_open_list(store->trash, "evicted");

	return dir < 0 ? dir : durable_name(store, dir);
}

/* Clears what was moved to `name`; the note stays as long as something is. */
static int clear_out(struct passage *p, const char *name)
{
	struct store *store = p->leaving->store;
	int err = settle_move(store);

	if (!err)
		err = clear_directory(p, store->trash, name);
	if (err || !is_gone(store, name))
		return err;
	if (p->path[0])
		prune(store, p->path);
	drop_note(store, name);
	return 0;
}

/* In a store of many users, what another will not let us move. */
static bool is_theirs(int error)
{
	return error == EPERM || error == EACCES;
}

/* Moves it, clears it. Nothing goes if it is not what was looked at. */
static int move_out(struct passage *p, int parent, const char *base, ino_t ino)
{
	struct store *store = p->leaving->store;
	char name[NAME_SIZE];
	struct stat st;
	int err = clock_ask(store, &p->before);

	if (!err)
		err = note_path(store, p->path, name);
	if (err)
		return err;
	if (renameat(parent, base, store->trash, name) < 0) {
		err = errno == ENOENT || is_theirs(errno) ? 0 : -errno;
		drop_note(store, name);
		return err;
	}
	if (fd_stat_at(store->trash, name, &st) < 0 || st.st_ino != ino)
		p->before = (struct timespec){ 0 };
	p->leaving->directories++;
	return clear_out(p, name);
}

static bool is_unused_since(int dir, const struct victim *victim)
{
	struct stat st;

	return fd_stat(dir, &st) == 0 && st.st_ino == victim->ino &&
	       st.st_atim.tv_sec == victim->used.tv_sec &&
	       st.st_atim.tv_nsec == victim->used.tv_nsec;
}

int evicted_take(struct leaving *leaving, const struct victim *victim)
{
	struct passage p = { .leaving = leaving };
	AUTO_CLOSE int parent = -1;
	AUTO_CLOSE int dir = -1;
	const char *name;

	parent = place_open_parent(leaving->store->refs, victim->path, &name);
	if (parent < 0)
		return parent == -ENOENT || parent == -ENOTDIR ? 0 : parent;
	dir = fd_open_list(parent, name);
	/* The lock is kept until it is gone. Without locks everything works. */
	if (dir < 0 || !is_unused_since(dir, victim) ||
	    (flock(dir, LOCK_EX | LOCK_NB) < 0 && errno == EWOULDBLOCK))
		return 0;
	snprintf(p.path, sizeof(p.path), "%s", victim->path);
	return move_out(&p, parent, name, victim->ino);
}

/*
 * What its note says, if somebody who is trusted has written it, which was just
 * before it was moved.
 */
static void read_note(struct passage *p, const char *name)
{
	const struct store *store = p->leaving->store;
	char note[NAME_SIZE + sizeof(suffix)];
	struct stat st;
	ssize_t size;

	snprintf(note, sizeof(note), "%s%s", name, suffix);
	if (fd_stat_at(store->trash, note, &st) < 0 ||
	    !store_trusts(store, st.st_uid))
		return;
	size = readlinkat(store->trash, note, p->path, PATH_MAX);
	p->path[size < 0 || size == PATH_MAX ? 0 : size] = '\0';
	if (!trash_is_path(p->path))
		p->path[0] = '\0';
	p->before = st.st_ctim;
}

static int go_on_with(struct leaving *leaving, const char *entry)
{
	struct passage p = { .leaving = leaving };
	char name[NAME_SIZE];

	if (strspn(entry, "0123456789abcdef") != DIGITS)
		return 0;
	snprintf(name, sizeof(name), "evicted/%.*s", DIGITS, entry);
	/* Of a note, perhaps without its directory; or of a directory. */
	read_note(&p, name);
	return clear_out(&p, name);
}

int evicted_go_on(struct leaving *leaving)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(leaving->store->trash, "evicted");
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT ? 0 : -errno;
	while (!err && (entry = fd_list_next(stream)))
		err = go_on_with(leaving, entry->d_name);
	return err ? err : -errno;
}
