/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/mark.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/arena.h"
#include "codec/manifest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/moves.h"
#include "fs/store/state.h"

enum {
	ATTEMPTS = 100,
	PAUSE_NSEC = 20 * 1000 * 1000,
	ARENA_SPARE = 4096,
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

int mark_now(struct store *store, struct timespec *now)
{
	struct fd_draft draft = { .fd = -1 };
	struct stat st;
	int err = fd_draft_open(store->tmp, 0600, &draft);

	if (err)
		return err;
	if (fstat(draft.fd, &st) < 0)
		err = -errno;
	else
		*now = st.st_ctim;
	fd_draft_close(&draft);
	return err;
}

static int complain(struct mark *mark, int dir, const char *name, int err,
		    const char *what)
{
	char link[32], place[PATH_MAX] = "";

	snprintf(link, sizeof(link), "/proc/self/fd/%d", dir);
	if (readlink(link, place, sizeof(place) - 1) < 0)
		place[0] = '\0';
	snprintf(mark->trouble, sizeof(mark->trouble), "%s/%s: %s", place, name,
		 what);
	return err;
}

static int add_packs(struct mark *mark, const void *bytes, size_t size)
{
	struct arena arena = arena_upto(4 * size + ARENA_SPARE);
	struct manifest m;
	const char *why;
	int err = manifest_parse(bytes, size, &arena, &m, &why);

	for (size_t i = 0; !err && i < m.pack_count; i++)
		err = pack_set_mark(&mark->packs, &m.packs[i], PACK_IS_USED);
	arena_free(&arena);
	return err;
}

/*
 * What anybody has published counts, trusted or not: it is theirs. What is no
 * manifest needs nothing.
 */
static int read_manifest(struct mark *mark, int fd, size_t size)
{
	AUTO_FREE void *bytes = malloc(size + 1);
	int err;

	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(fd, bytes, size, 0);
	if (!err)
		err = add_packs(mark, bytes, size);
	if (err)
		return err == -ENODATA || err == -EBADMSG ? 0 : err;
	mark->files++;
	return mark->progress(mark->context, mark->files) ? 0 : -ECANCELED;
}

static int mark_file(struct mark *mark, int dir, const char *name)
{
	AUTO_CLOSE int fd = openat(dir, name,
				   O_RDONLY | O_NOFOLLOW | O_NONBLOCK |
					   O_NOCTTY | O_CLOEXEC);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO
			       ? 0
			       : complain(mark, dir, name, -errno,
					  strerror(errno));
	if (fstat(fd, &st) < 0)
		return complain(mark, dir, name, -errno, strerror(errno));
	if (!S_ISREG(st.st_mode) || st.st_size > MANIFEST_MAX)
		return 0;
	err = read_manifest(mark, fd, (size_t)st.st_size);
	if (err == -ENOTSUP)
		return complain(mark, dir, name, err,
				"it is of a newer program");
	return err ? complain(mark, dir, name, err, strerror(-err)) : 0;
}

static int mark_tree(struct mark *mark, int parent, const char *name);

static int mark_entry(struct mark *mark, int dir, const struct dirent *entry)
{
	const char *name = entry->d_name;
	struct stat st;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	if (entry->d_type == DT_DIR)
		return mark_tree(mark, dir, name);
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_REG ? mark_file(mark, dir, name) : 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return mark_tree(mark, dir, name);
	return S_ISREG(st.st_mode) ? mark_file(mark, dir, name) : 0;
}

static int mark_tree(struct mark *mark, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = NULL;
	int dir = openat(parent, name, DIR_FLAGS);
	struct dirent *entry;
	int err = 0;

	if (dir < 0)
		return errno == ENOENT ? 0
				       : complain(mark, parent, name, -errno,
						  strerror(errno));
	stream = fdopendir(dir);
	if (!stream) {
		err = -errno;
		close(dir);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(stream)))
		err = mark_entry(mark, dir, entry);
	return err ? err : -errno;
}

/*
 * In this order: what is being published leaves intents/ for refs/, what is
 * deleted leaves refs/ for trash/. What was moved otherwise meanwhile has left
 * a link in intents/, perhaps only after these were read. Moves without a link
 * are told of by moves_look().
 */
static int mark_all(struct store *store, struct mark *mark)
{
	int err = mark_now(store, &mark->begun);

	pack_set_free(&mark->packs);
	mark->files = 0;
	if (!err)
		err = mark_tree(mark, store->root, "intents");
	if (!err)
		err = mark_tree(mark, store->root, "refs");
	if (!err)
		err = mark_tree(mark, store->trash, "refs");
	return err ? err : mark_tree(mark, store->root, "intents");
}

static int attempt(struct store *store, struct mark *mark)
{
	struct moves_state before, after;
	int err = moves_look(store, &before);

	if (err || before.under_way)
		return err ? err : -EAGAIN;
	err = mark_all(store, mark);
	if (!err)
		err = moves_look(store, &after);
	if (!err && (after.under_way || after.digest != before.digest))
		err = -EAGAIN;
	return err;
}

int mark_packs(struct store *store, struct mark *mark)
{
	const struct timespec pause = { .tv_nsec = PAUSE_NSEC };
	int err = attempt(store, mark);

	for (int i = 1; err == -EAGAIN && i < ATTEMPTS; i++) {
		nanosleep(&pause, NULL);
		err = attempt(store, mark);
	}
	if (err == -EAGAIN)
		snprintf(mark->trouble, sizeof(mark->trouble),
			 "names are being moved all the time");
	else if (err && !mark->trouble[0])
		snprintf(mark->trouble, sizeof(mark->trouble), "%s",
			 strerror(-err));
	return err;
}

void mark_free(struct mark *mark)
{
	pack_set_free(&mark->packs);
}
