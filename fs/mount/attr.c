/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/attr.h"

#include <errno.h>
#include <fcntl.h>
#include <fuse_lowlevel.h>
#include <stdio.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/mount/change.h"
#include "fs/mount/commit.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"

static int check_owner(const struct mount *m, const struct stat *st, int set)
{
	if ((set & FUSE_SET_ATTR_UID) && st->st_uid != m->uid)
		return -EPERM;
	if ((set & FUSE_SET_ATTR_GID) && st->st_gid != m->gid)
		return -EPERM;
	return 0;
}

static struct timespec time_or_omit(const struct timespec *at, bool set,
				    bool now)
{
	if (now)
		return (struct timespec){ .tv_nsec = UTIME_NOW };
	return set ? *at : (struct timespec){ .tv_nsec = UTIME_OMIT };
}

static void times_of(const struct stat *st, int set, struct timespec times[2])
{
	times[0] = time_or_omit(&st->st_atim, set & FUSE_SET_ATTR_ATIME,
				set & FUSE_SET_ATTR_ATIME_NOW);
	times[1] = time_or_omit(&st->st_mtim, set & FUSE_SET_ATTR_MTIME,
				set & FUSE_SET_ATTR_MTIME_NOW);
}

static bool sets_times(int set)
{
	return set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_MTIME |
		      FUSE_SET_ATTR_ATIME_NOW | FUSE_SET_ATTR_MTIME_NOW);
}

/* An O_PATH descriptor is changed by its name in /proc. */
static int setattr_directory(struct mount *m, struct node *node,
			     const struct stat *st, int set)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, node);
	mode_t mode = store_dir_mode(m->store, st->st_mode & 07777);
	struct timespec times[2];
	char path[FD_LINK_SIZE];

	if (dir.fd < 0)
		return dir.fd;
	fd_link(dir.fd, path);
	if ((set & FUSE_SET_ATTR_MODE) && chmod(path, mode) < 0)
		return -errno;
	times_of(st, set, times);
	if (sets_times(set) && utimensat(AT_FDCWD, path, times, 0) < 0)
		return -errno;
	return 0;
}

static int set_times_at(struct mount *m, const struct place *place,
			const struct stat *st, int set, struct stat *now)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	struct timespec times[2];

	if (dir.fd < 0)
		return dir.fd;
	times_of(st, set, times);
	if (sets_times(set) &&
	    utimensat(dir.fd, place->name, times, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return fd_stat_at(dir.fd, place->name, now) < 0 ? -errno : 0;
}

static int setattr_symlink(struct mount *m, struct node *node,
			   const struct stat *st, int set)
{
	struct stat now;
	struct place place;
	int err = node_place(&m->tree, node, &place);

	if (err)
		return err;
	err = set_times_at(m, &place, st, set, &now);
	if (!err) {
		tree_lock(&m->tree);
		node->symlink = now;
		tree_unlock(&m->tree);
	}
	place_free(&m->tree, &place);
	return err;
}

static int set_size(struct mount *m, struct node *node, const struct handle *h,
		    uint64_t size, struct caller *caller)
{
	if (!h && node->kind == NODE_FILE &&
	    artifact_kind_of(node->name) != ARTIFACT_NONE)
		return retry_take(m, caller->thread, node->name, node) ==
				       RETRIED_SAME
			       ? -ETXTBSY
			       : retry_ask(m, caller->thread, node->name, node,
					   true);
	retry_take(m, caller->thread, node->name, node);
	return file_resize_locked(m, node, size);
}

static struct change change_of(const struct stat *st, int set)
{
	struct change change = {
		.set_mode = set & FUSE_SET_ATTR_MODE,
		.mode = st->st_mode,
		.set_mtime =
			set & (FUSE_SET_ATTR_MTIME | FUSE_SET_ATTR_MTIME_NOW),
		.mtime = st->st_mtim,
		.set_atime =
			set & (FUSE_SET_ATTR_ATIME | FUSE_SET_ATTR_ATIME_NOW),
		.atime = st->st_atim,
	};
	struct timespec now;

	clock_gettime(CLOCK_REALTIME, &now);
	if (set & FUSE_SET_ATTR_MTIME_NOW)
		change.mtime = now;
	if (set & FUSE_SET_ATTR_ATIME_NOW)
		change.atime = now;
	return change;
}

/* Of the owner's change the ctime is all that is left. */
static bool changes(const struct change *change, int set)
{
	return change->set_mode || change->set_mtime || change->set_atime ||
	       (set & (FUSE_SET_ATTR_UID | FUSE_SET_ATTR_GID));
}

/* With node.writing held alone. */
static int setattr_file(struct mount *m, struct node *node,
			const struct handle *h, const struct stat *st, int set,
			struct caller *caller)
{
	struct change change = change_of(st, set);
	int err = 0;

	if (set & FUSE_SET_ATTR_SIZE)
		err = set_size(m, node, h, (uint64_t)st->st_size, caller);
	if (!err && changes(&change, set))
		err = change_apply(m, node, &change, !h);
	if (h)
		return err == -ENOENT ? 0 : err; /* it may be unlinked */
	return err ? err : commit_unopened(m, node);
}

int node_setattr(struct mount *m, struct node *node, const struct handle *h,
		 const struct stat *st, int set, struct caller *caller)
{
	int err = m->read_only ? -EROFS : check_owner(m, st, set);

	if (err)
		return err;
	switch (node->kind) {
	case NODE_DIRECTORY:
		return setattr_directory(m, node, st, set);
	case NODE_SYMLINK:
		return setattr_symlink(m, node, st, set);
	case NODE_READABLE:
		return set & FUSE_SET_ATTR_SIZE ? -EROFS : 0;
	case NODE_CONTROL:
	case NODE_REPORT:
		return -EROFS;
	case NODE_FILE:
	case NODE_PRIVATE:
		break;
	}
	pthread_rwlock_wrlock(&node->writing);
	err = setattr_file(m, node, h, st, set, caller);
	pthread_rwlock_unlock(&node->writing);
	return err;
}
