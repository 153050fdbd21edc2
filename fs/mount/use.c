/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/use.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/file.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/mount/dir.h"
#include "fs/own.h"

/* The lock is of what is opened here: that of the node is an O_PATH. */
static int lock_directory(struct mount *m, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	int fd = dir.fd < 0 ? -1 : fd_open_list(dir.fd, ".");

	if (fd >= 0)
		(void)flock(fd, LOCK_SH | LOCK_NB);
	return fd < 0 ? -1 : fd;
}

void use_begin(struct mount *m, struct node *directory)
{
	struct node_directory *d;
	AUTO_CLOSE int fd = -1;
	bool first;

	if (!directory)
		return;
	d = &directory->directory;
	tree_lock(&m->tree);
	first = d->users++ == 0 && m->locks < m->lock_limit;
	tree_unlock(&m->tree);
	if (!first)
		return;
	fd = lock_directory(m, directory);
	tree_lock(&m->tree);
	if (d->users && d->lock < 0 && fd >= 0) {
		d->lock = take_fd(&fd);
		m->locks++;
	}
	tree_unlock(&m->tree);
}

void use_end(struct mount *m, struct node *directory)
{
	struct node_directory *d;
	AUTO_CLOSE int fd = -1;

	if (!directory)
		return;
	d = &directory->directory;
	tree_lock(&m->tree);
	if (--d->users == 0 && d->lock >= 0) {
		fd = take_fd(&d->lock);
		m->locks--;
	}
	tree_unlock(&m->tree);
}

/* What is published meanwhile must not seem to be used later. */
static bool is_due(struct mount *m, struct node *directory)
{
	struct node_directory *d = &directory->directory;
	size_t published = store_publications(m->store);
	struct timespec now = { 0 };
	bool due;

	clock_gettime(CLOCK_MONOTONIC, &now);
	tree_lock(&m->tree);
	due = d->noted != now.tv_sec || d->published != published;
	d->noted = now.tv_sec;
	d->published = published;
	tree_unlock(&m->tree);
	return due;
}

/* Directories of others stay as they are. */
void use_note(struct mount *m, struct node *directory)
{
	const struct timespec times[] = { { .tv_nsec = UTIME_NOW },
					  { .tv_nsec = UTIME_OMIT } };
	AUTO_DIR struct dir_use dir = { .node = NULL };

	if (m->read_only || !is_due(m, directory))
		return;
	dir = dir_begin(&m->tree, directory);
	if (dir.fd >= 0)
		(void)utimensat(dir.fd, ".", times, 0);
}

static bool is_same(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec == b->tv_sec && a->tv_nsec == b->tv_nsec;
}

/* A noted use, whoever's, gives the atime and the ctime one value. */
void use_hide(struct mount *m, struct node *directory, struct stat *st)
{
	struct node_directory *d = &directory->directory;

	tree_lock(&m->tree);
	if (!is_same(&st->st_atim, &st->st_ctim)) {
		d->mtime = st->st_mtim;
		d->ctime = st->st_ctim;
	} else {
		st->st_ctim = is_same(&d->mtime, &st->st_mtim) ? d->ctime
							       : st->st_mtim;
	}
	tree_unlock(&m->tree);
}

static int make_in(struct mount *m, int parent, struct node *directory,
		   const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct stat st = { .st_mode = store_dir_mode(m->store, 0700) };
	int fd;

	/* One that is gone, and was not open, has the usual mode. */
	if (dir.fd < 0 && dir.fd != -ESTALE)
		return dir.fd;
	if (dir.fd >= 0 && fd_stat(dir.fd, &st) < 0)
		return -errno;
	if (mkdirat(parent, name, st.st_mode & 07777) < 0 && errno != EEXIST)
		return -errno;
	fd = fd_open(parent, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	return fd < 0 ? -errno : fd;
}

int use_make_again(struct mount *m, struct node *directory)
{
	struct place place = { 0 };
	AUTO_CLOSE int parent = -1;
	int fd = node_place(&m->tree, directory, &place);

	if (fd)
		return fd;
	if (place.parent) {
		parent = use_make_again(m, place.parent);
		fd = parent < 0 ? parent
				: make_in(m, parent, directory, place.name);
	} else {
		AUTO_DIR struct dir_use root = dir_begin(&m->tree, directory);

		fd = fd_open(root.fd, ".", O_PATH | O_DIRECTORY, 0);
		fd = fd < 0 ? -errno : fd;
	}
	place_free(&m->tree, &place);
	return fd;
}
