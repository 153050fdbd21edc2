/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/victims.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

enum { DEPTH_MAX = 200 };

static bool is_younger(const struct victim *a, const struct victim *b)
{
	return a->used.tv_sec > b->used.tv_sec ||
	       (a->used.tv_sec == b->used.tv_sec &&
		a->used.tv_nsec > b->used.tv_nsec);
}

static void swap(struct victim *a, struct victim *b)
{
	struct victim other = *a;

	*a = *b;
	*b = other;
}

static void sift_down(struct victims *v)
{
	for (size_t at = 0, next; (next = 2 * at + 1) < v->count; at = next) {
		if (next + 1 < v->count &&
		    is_younger(&v->list[next + 1], &v->list[next]))
			next++;
		if (!is_younger(&v->list[next], &v->list[at]))
			return;
		swap(&v->list[next], &v->list[at]);
	}
}

static void sift_up(struct victims *v, size_t at)
{
	for (size_t up; at > 0; at = up) {
		up = (at - 1) / 2;
		if (!is_younger(&v->list[at], &v->list[up]))
			return;
		swap(&v->list[at], &v->list[up]);
	}
}

int victims_offer(struct victims *v, const struct timespec *used, ino_t ino,
		  const char *path)
{
	struct victim victim = { .used = *used, .ino = ino };
	bool full = v->count == VICTIMS_MAX;

	if (full && !is_younger(&v->list[0], &victim))
		return 0;
	victim.path = strdup(path);
	if (!victim.path)
		return -ENOMEM;
	if (full) {
		free(v->list[0].path);
		v->list[0] = victim;
		sift_down(v);
	} else {
		v->list[v->count++] = victim;
		sift_up(v, v->count - 1);
	}
	return 0;
}

static int compare(const void *a, const void *b)
{
	return is_younger(a, b) ? 1 : is_younger(b, a) ? -1 : 0;
}

void victims_sort(struct victims *v)
{
	qsort(v->list, v->count, sizeof(*v->list), compare);
}

void victims_free(struct victims *v)
{
	for (size_t i = 0; i < v->count; i++)
		free(v->list[i].path);
	v->count = 0;
}

/* A walk: what lies at the path. */
struct walk {
	struct victims *victims;
	bool leaves; /* are looked for, not files */
	int depth;
	char path[PATH_MAX];
};

/* What a directory has in it. */
struct content {
	bool files;
	bool directories;
};

static int walk_tree(struct walk *walk, int parent, const char *name,
		     size_t size);

static int see(struct walk *walk, int dir, const char *name,
	       const struct stat *st, size_t size, struct content *content)
{
	if (S_ISDIR(st->st_mode)) {
		content->directories = true;
		return walk_tree(walk, dir, name, size);
	}
	if (!S_ISREG(st->st_mode))
		return 0;
	content->files = true;
	if (walk->leaves)
		return 0;
	if ((size_t)snprintf(walk->path + size, PATH_MAX - size, "/%s", name) >=
	    PATH_MAX - size)
		return 0;
	return victims_offer(walk->victims, &st->st_ctim, st->st_ino,
			     walk->path);
}

static int see_all(struct walk *walk, DIR *stream, size_t size,
		   struct content *content)
{
	struct dirent *entry;
	struct stat st;
	int err = 0;

	while (!err && (entry = fd_list_next(stream))) {
		const char *name = entry->d_name;

		if (fd_stat_at(dirfd(stream), name, &st) == 0)
			err = see(walk, dirfd(stream), name, &st, size,
				  content);
		walk->path[size] = '\0';
	}
	return err ? err : -errno;
}

/* The namespace itself is never taken. */
static int offer_leaf(struct walk *walk, int dir)
{
	struct victims *v = walk->victims;
	struct stat st;

	if (!strchr(walk->path, '/') || fd_stat(dir, &st) < 0 ||
	    (v->fits && !v->fits(v->context, dir, walk->path)))
		return 0;
	return victims_offer(v, &st.st_atim, st.st_ino, walk->path);
}

static int walk_opened(struct walk *walk, DIR *stream, size_t size)
{
	struct content content = { 0 };
	const struct victims *v = walk->victims;
	int err;

	if (v->progress && !v->progress(v->context))
		return -ECANCELED;
	if (++walk->depth > DEPTH_MAX)
		err = 0; /* no client's path is so deep */
	else
		err = see_all(walk, stream, size, &content);
	walk->depth--;
	if (!err && walk->leaves && content.files && !content.directories)
		err = offer_leaf(walk, dirfd(stream));
	return err;
}

/* `path` has `size` characters, and becomes that of `name` meanwhile. */
static int walk_tree(struct walk *walk, int parent, const char *name,
		     size_t size)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);

	if (!stream)
		return errno == ENOENT || errno == EACCES || errno == ENOTDIR
			       ? 0
			       : -errno;
	if (strcmp(name, ".") == 0)
		return walk_opened(walk, stream, 0);
	size += (size_t)snprintf(walk->path + size, PATH_MAX - size, "%s%s",
				 size ? "/" : "", name);
	if (size >= PATH_MAX)
		return 0; /* nobody can name it either */
	return walk_opened(walk, stream, size);
}

static int find(struct store *store, struct victims *victims, bool leaves)
{
	struct walk walk = { .victims = victims, .leaves = leaves };
	AUTO_CLOSE int top =
		leaves ? dup(store->refs) : fd_open_list(store->trash, "refs");

	if (top < 0)
		return leaves ? -errno : top == -ENOENT ? 0 : top;
	return walk_tree(&walk, top, ".", 0);
}

int victims_find_leaves(struct store *store, struct victims *victims)
{
	return find(store, victims, true);
}

int victims_find_deleted(struct store *store, struct victims *victims)
{
	return find(store, victims, false);
}
