/* SPDX-License-Identifier: Apache-2.0 */
#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/durable.h"
#include "fs/store/fresh.h"
#include "fs/store/guard.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"

enum { STAMP_MAX = 64 };

/*
 * In the trash a directory stands for each component of a path, the last one
 * included; the files in it are the manifests that had this path.
 */
struct walk {
	struct store *store;
	struct trash_restored *result; /* of a restoration */
	int64_t before;		       /* of an expiration */
	bool dry_run;
	size_t *expired;
};

/* 1 for a regular file, 0 for what is another thing or gone, or an errno. */
static int is_file(int dir, const char *name, struct stat *st)
{
	if (fd_stat_at(dir, name, st) < 0)
		return errno == ENOENT ? 0 : -errno;
	return S_ISREG(st->st_mode);
}

static int expire_tree(const struct walk *w, int parent, const char *name);

static int expire_entry(const struct walk *w, int dir, const char *name)
{
	struct stat st;
	int file;

	if (strcmp(name, ".") == 0 || strcmp(name, "..") == 0)
		return 0;
	file = is_file(dir, name, &st);
	if (file <= 0)
		return file ? file : expire_tree(w, dir, name);
	if (st.st_ctim.tv_sec >= w->before)
		return 0;
	if (!w->dry_run && unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0 : -errno;
	++*w->expired;
	return 0;
}

/* Empty directories go with what was in them. */
static int expire_tree(const struct walk *w, int parent, const char *name)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR || errno == ELOOP
			       ? 0
			       : -errno;
	while (!err && (entry = fd_list_next(stream)))
		err = expire_entry(w, dirfd(stream), entry->d_name);
	if (!err)
		err = -errno;
	if (!err && !w->dry_run)
		unlinkat(parent, name, AT_REMOVEDIR);
	return err;
}

int trash_expire(struct store *store, int64_t before, bool dry_run,
		 size_t *files)
{
	const struct walk w = {
		.store = store,
		.before = before,
		.dry_run = dry_run,
		.expired = files,
	};

	return expire_tree(&w, store->trash, "refs");
}

/* The newest of the manifests that a name had; empty when it had none. */
static int newest_of(DIR *stream, char stamp[STAMP_MAX])
{
	struct dirent *entry;
	struct stat st;

	stamp[0] = '\0';
	rewinddir(stream);
	while ((entry = fd_list_next(stream))) {
		const char *name = entry->d_name;
		int file = 0;

		if (strlen(name) < STAMP_MAX && strcmp(name, stamp) > 0)
			file = is_file(dirfd(stream), name, &st);
		if (file < 0)
			return file;
		if (file)
			memcpy(stamp, name, strlen(name) + 1);
	}
	return -errno;
}

static int make_parents(const struct store *store, int base, char *path)
{
	for (char *end = strchr(path, '/'); end; end = strchr(end + 1, '/')) {
		int err;

		*end = '\0';
		err = store_make_space_dir(store, base, path);
		*end = '/';
		if (err)
			return err;
	}
	return 0;
}

int trash_move_back(struct store *store, int dir, const char *name, int base,
		    char *path)
{
	struct guard guard;
	int err = make_parents(store, base, path);

	if (!err)
		err = guard_begin(store, dir, name, &guard);
	if (err)
		return err;
	err = fd_move_new(dir, name, base, path);
	guard_end(&guard);
	return err;
}

static int restore_file(const struct walk *w, int dir, const char *stamp,
			char *path)
{
	struct trash_restored *result = w->result;
	int err = 0;

	if (!w->dry_run)
		err = trash_move_back(w->store, dir, stamp, w->store->space,
				      path);
	else if (faccessat(w->store->space, path, F_OK, AT_SYMLINK_NOFOLLOW) ==
		 0)
		err = -EEXIST;
	if (err == -EEXIST) {
		result->taken++;
		return 0;
	}
	if (err)
		return err == -ENOENT ? 0 : err;
	result->files++;
	if (result->restored)
		result->restored(result->context, path);
	return 0;
}

static int restore_tree(const struct walk *w, int parent, const char *name,
			char path[PATH_MAX], size_t size);

static int restore_below(const struct walk *w, DIR *stream, char path[PATH_MAX],
			 size_t size)
{
	struct dirent *entry;
	int err = 0;

	rewinddir(stream);
	while (!err && (entry = fd_list_next(stream))) {
		const char *name = entry->d_name;
		struct stat st;
		int file = is_file(dirfd(stream), name, &st);

		if (file <= 0)
			err = file ? file
				   : restore_tree(w, dirfd(stream), name, path,
						  size);
	}
	return err ? err : -errno;
}

/* `path` has `size` characters, and becomes that of `name` meanwhile. */
static int restore_tree(const struct walk *w, int parent, const char *name,
			char path[PATH_MAX], size_t size)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	char stamp[STAMP_MAX];
	size_t longer;
	int err;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR ? 0 : -errno;
	longer = size + (size_t)snprintf(path + size, PATH_MAX - size, "%s%s",
					 size ? "/" : "", name);
	if (longer >= PATH_MAX)
		return -ENAMETOOLONG;
	err = newest_of(stream, stamp);
	if (!err && *stamp)
		err = restore_file(w, dirfd(stream), stamp, path);
	if (!err)
		err = restore_below(w, stream, path, longer);
	path[size] = '\0';
	return err;
}

bool trash_is_path(const char *path)
{
	while (*path) {
		size_t size = strcspn(path, "/");

		if (!size || (size == 1 && path[0] == '.') ||
		    (size == 2 && path[0] == '.' && path[1] == '.'))
			return false;
		path += size;
		if (*path && !*++path)
			return false;
	}
	return true;
}

int trash_restore(struct store *store, const char *path,
		  struct trash_restored *result)
{
	const struct walk w = { .store = store,
				.result = result,
				.dry_run = result->dry_run };
	char place[PATH_MAX], whole[PATH_MAX] = "";
	AUTO_CLOSEDIR DIR *stream = NULL;
	char stamp[STAMP_MAX] = "";
	int err = 0;

	if (!trash_is_path(path))
		return -EINVAL;
	if ((size_t)snprintf(place, sizeof(place), "refs/%s%s%s", store->name,
			     *path ? "/" : "", path) >= sizeof(place))
		return -ENAMETOOLONG;
	fresh_path(store, store->trash, place);
	stream = fd_list(store->trash, place);
	if (!stream)
		return -errno;
	snprintf(whole, sizeof(whole), "%s", path);
	if (*path)
		err = newest_of(stream, stamp);
	if (!err && *path && *stamp)
		err = restore_file(&w, dirfd(stream), stamp, whole);
	if (!err)
		err = restore_below(&w, stream, whole, strlen(path));
	if (!err && result->files && !w.dry_run)
		err = durable_all(store);
	return !err && !result->files && !result->taken ? -ENOENT : err;
}
