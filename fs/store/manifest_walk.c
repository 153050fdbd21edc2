/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/manifest_walk.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>

#include "codec/arena.h"
#include "fs/fd.h"
#include "fs/own.h"

enum {
	LOOKS = 8,
	/* Names take more memory than bytes in the manifest. */
	ARENA_SPARE = 32 * MANIFEST_NAMES_MAX,
	FILE_FLAGS = O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY
};

static int complain(struct manifest_walk *walk, int dir, const char *name,
		    int err, const char *what)
{
	char place[PATH_MAX];

	if (err == -ESTALE)
		return err; /* it is looked at again */
	(void)fd_path(dir, place);
	snprintf(walk->trouble, sizeof(walk->trouble), "%s/%s: %s", place, name,
		 what);
	return err;
}

/* `why` stays NULL when it is `visit` that fails. */
static int visit(struct manifest_walk *walk, struct manifest_spot *spot,
		 const void *bytes, const char **why)
{
	size_t size = (size_t)spot->st->st_size;
	struct arena arena = arena_upto(4 * size + ARENA_SPARE);
	struct manifest m;
	int err = manifest_parse(bytes, size, &arena, &m, why);

	if (!err) {
		*why = NULL;
		spot->m = &m;
		err = walk->visit(walk, spot);
	}
	arena_free(&arena);
	return err;
}

/* What is no manifest needs nothing. */
static int read_manifest(struct manifest_walk *walk, int fd,
			 struct manifest_spot *spot)
{
	size_t size = (size_t)spot->st->st_size;
	AUTO_FREE void *bytes = malloc(size + 1);
	const char *why = "";
	int err;

	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(fd, bytes, size, 0);
	if (!err)
		err = visit(walk, spot, bytes, &why);
	if (!err || !why)
		return err;
	if (err == -ENODATA || err == -EBADMSG)
		return 0;
	return complain(walk, spot->dir, spot->name, err,
			err == -ENOTSUP ? "it is of a newer program"
					: strerror(-err));
}

/*
 * What is listed may be known as missing, from before another host made it:
 * then the names are asked for again.
 */
static int open_listed(int dir, const char *name)
{
	int fd = fd_open(dir, name, FILE_FLAGS, 0);

	if (fd >= 0 || errno != ENOENT)
		return fd;
	fd_ask_names(dir);
	return fd_open(dir, name, FILE_FLAGS, 0);
}

static int stat_listed(int dir, const char *name, struct stat *st)
{
	int result = fd_stat_at(dir, name, st);

	if (result == 0 || errno != ENOENT)
		return result;
	fd_ask_names(dir);
	return fd_stat_at(dir, name, st);
}

static int walk_once(struct manifest_walk *walk, int dir, const char *name)
{
	AUTO_CLOSE int fd = open_listed(dir, name);
	struct stat st;
	struct manifest_spot spot = { .dir = dir, .name = name, .st = &st };

	if (fd < 0)
		return errno == ENOENT || errno == ELOOP || errno == ENXIO
			       ? 0
			       : complain(walk, dir, name, -errno,
					  strerror(errno));
	if (fd_stat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > MANIFEST_MAX)
		return 0;
	return read_manifest(walk, fd, &spot);
}

/* What another host has replaced or removed meanwhile is looked at again. */
static int walk_file(struct manifest_walk *walk, int dir, const char *name)
{
	int err = walk_once(walk, dir, name);

	for (int i = 0; err == -ESTALE && i < LOOKS; i++)
		err = walk_once(walk, dir, name);
	return err;
}

static int walk_entry(struct manifest_walk *walk, int dir,
		      const struct dirent *entry)
{
	const char *name = entry->d_name;
	struct stat st;

	if (entry->d_type == DT_DIR)
		return manifest_walk(walk, dir, name);
	if (entry->d_type != DT_UNKNOWN)
		return entry->d_type == DT_REG ? walk_file(walk, dir, name) : 0;
	if (stat_listed(dir, name, &st) < 0)
		return errno == ENOENT ? 0 : -errno;
	if (S_ISDIR(st.st_mode))
		return manifest_walk(walk, dir, name);
	return S_ISREG(st.st_mode) ? walk_file(walk, dir, name) : 0;
}

int manifest_walk(struct manifest_walk *walk, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT ? 0
				       : complain(walk, parent, name, -errno,
						  strerror(errno));
	while (!err && (entry = fd_list_next(stream)))
		err = walk_entry(walk, dirfd(stream), entry);
	return err ? err : -errno;
}
