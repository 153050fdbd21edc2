/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/usage.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

enum { SETTLE_SECONDS = 2, NOTE_SIZE = 24 };

static const char note[] = "stats/manifests";

/* What a walk does with a directory and a name in it. */
typedef int visitor(int dir, const char *name, uint64_t *bytes);

static int visit_all(int parent, const char *name, visitor *visit,
		     uint64_t *bytes)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR || errno == EACCES
			       ? 0
			       : -errno;
	while (!err && (entry = fd_list_next(stream)))
		err = visit(dirfd(stream), entry->d_name, bytes);
	return err ? err : -errno;
}

static int add_file(int dir, const char *name, uint64_t *bytes)
{
	struct stat st;

	if (fd_stat_at(dir, name, &st) == 0 && S_ISREG(st.st_mode))
		*bytes += (uint64_t)st.st_size;
	return 0;
}

static int add_tree(int dir, const char *name, uint64_t *bytes)
{
	struct stat st;

	if (fd_stat_at(dir, name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return visit_all(dir, name, add_tree, bytes);
	return add_file(dir, name, bytes);
}

/* An mtime that is younger may hide a change that comes after. */
static bool is_settled(const struct timespec *mtime)
{
	struct timespec now;

	return clock_gettime(CLOCK_REALTIME, &now) == 0 &&
	       now.tv_sec - mtime->tv_sec > SETTLE_SECONDS;
}

static bool is_same_time(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

static int look_at(int dir, const char *name, struct usage_part *part)
{
	struct usage_part now = { 0 };
	struct stat st;
	int err = 0;

	if (fd_stat_at(dir, name, &st) < 0) {
		err = errno == ENOENT ? 0 : -errno;
	} else if (!part->settled || part->ino != st.st_ino ||
		   !is_same_time(&part->mtime, &st.st_mtim)) {
		now.ino = st.st_ino;
		now.mtime = st.st_mtim;
		now.settled = is_settled(&st.st_mtim);
		err = visit_all(dir, name, add_file, &now.bytes);
	} else {
		return 0;
	}
	*part = now;
	return err;
}

/* A number, if somebody who is trusted has written one. */
static bool read_note(struct store *store, int fd, uint64_t *bytes)
{
	char text[NOTE_SIZE] = "";
	struct stat st;
	char *end;

	if (fd_stat(fd, &st) < 0 || !S_ISREG(st.st_mode) ||
	    !store_trusts(store, st.st_uid) || st.st_size >= NOTE_SIZE ||
	    fd_read_at(fd, text, (size_t)st.st_size, 0))
		return false;
	*bytes = strtoull(text, &end, 10);
	return end > text && *end == '\n';
}

static int count_manifests(struct store *store, uint64_t *bytes)
{
	int err = add_tree(store->root, "refs", bytes);

	if (!err)
		err = add_tree(store->trash, "refs", bytes);
	return err;
}

/* Nobody has collected yet: this time they are counted. */
static int need_note(struct store *store, struct usage *usage)
{
	int err;

	usage->manifests = 0;
	err = count_manifests(store, &usage->manifests);
	if (!err)
		usage_note_manifests(store, usage->manifests);
	return err;
}

static int look_at_note(struct store *store, struct usage *usage)
{
	AUTO_CLOSE int fd = fd_open(store->root, note,
				    O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;

	if (fd >= 0 && fd_stat(fd, &st) == 0 && usage->noted_ino == st.st_ino &&
	    is_same_time(&usage->noted, &st.st_mtim))
		return 0;
	if (fd >= 0 && read_note(store, fd, &usage->manifests)) {
		usage->noted_ino = st.st_ino;
		usage->noted = st.st_mtim;
	} else if (usage->noted_ino) {
		return 0; /* what was known will do */
	} else {
		int err = need_note(store, usage);

		if (err)
			return err;
		usage->noted_ino = 1; /* once is enough, noted or not */
	}
	atomic_store(&usage->published, 0);
	return 0;
}

int usage_look(struct store *store, struct usage *usage, uint64_t *bytes)
{
	int err = look_at_note(store, usage);
	uint64_t sum = usage->manifests + atomic_load(&usage->published);

	for (unsigned i = 0; i < USAGE_FANS && !err; i++) {
		char name[3];

		snprintf(name, sizeof(name), "%02x", i);
		err = look_at(store->packs, name, &usage->fans[i]);
		sum += usage->fans[i].bytes;
	}
	if (!err)
		err = look_at(store->trash, "packs", &usage->set_aside);
	*bytes = sum + usage->set_aside.bytes;
	return err;
}

/* When it cannot be noted, the next mark will. */
void usage_note_manifests(struct store *store, uint64_t bytes)
{
	struct fd_draft draft = { .fd = -1 };
	char text[NOTE_SIZE];
	int size = snprintf(text, sizeof(text), "%" PRIu64 "\n", bytes);

	if (store->read_only ||
	    fd_draft_open(store->tmp, store->file_mode, &draft))
		return;
	if (!fd_write_at(draft.fd, text, (size_t)size, 0))
		(void)fd_draft_replace(&draft, store->root, note);
	fd_draft_close(&draft);
}
