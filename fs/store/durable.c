/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/durable.h"

#include <errno.h>
#include <fcntl.h>
#include <linux/magic.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

#ifndef XFS_SUPER_MAGIC
#define XFS_SUPER_MAGIC 0x58465342
#endif

enum { ZFS_MAGIC = 0x2fc12fc1, DIR_FLAGS = O_RDONLY | O_DIRECTORY };

bool durable_has_journal(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return false;
	return fs.f_type == EXT4_SUPER_MAGIC || fs.f_type == XFS_SUPER_MAGIC;
}

void durable_start(int fd)
{
	(void)sync_file_range(fd, 0, 0, SYNC_FILE_RANGE_WRITE);
}

/* With a journal, the fsync of the commit takes what is missing with it. */
int durable_data(const struct store *store, int fd)
{
	const unsigned all = SYNC_FILE_RANGE_WAIT_BEFORE |
			     SYNC_FILE_RANGE_WRITE | SYNC_FILE_RANGE_WAIT_AFTER;

	if (!store->has_journal)
		return fd_sync(fd);
	return sync_file_range(fd, 0, 0, all) < 0 ? -errno : 0;
}

/* EINVAL: a file system where directories need no such thing. */
static int sync_dir(int dir)
{
	int err = fd_sync(dir);

	return err == -EINVAL ? 0 : err;
}

int durable_name(const struct store *store, int dir)
{
	AUTO_CLOSE int fd = -1;
	int err;

	if (store->has_journal)
		return 0;
	err = sync_dir(dir);
	if (err != -EBADF)
		return err;
	/* It was opened with O_PATH. */
	fd = fd_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);
	return fd < 0 ? -errno : sync_dir(fd);
}

/* -EXDEV when there is no directory above. */
static int open_above(int dir, int *above)
{
	AUTO_CLOSE int fd = fd_open(dir, "..", DIR_FLAGS, 0);
	struct stat here, there;

	if (fd < 0 || fd_stat(dir, &here) < 0 || fd_stat(fd, &there) < 0)
		return -errno;
	if (here.st_ino == there.st_ino && here.st_dev == there.st_dev)
		return -EXDEV;
	*above = take_fd(&fd);
	return 0;
}

static bool is_space(const struct store *store, int dir)
{
	struct stat here, space;

	return fd_stat(dir, &here) == 0 && fd_stat(store->space, &space) == 0 &&
	       here.st_ino == space.st_ino && here.st_dev == space.st_dev;
}

int durable_path(const struct store *store, int dir)
{
	AUTO_CLOSE int at = -1;
	int err;

	if (store->has_journal)
		return 0;
	at = fd_open(dir, ".", DIR_FLAGS, 0);
	err = at < 0 ? -errno : sync_dir(at);
	while (!err && !is_space(store, at)) {
		AUTO_CLOSE int below = take_fd(&at);

		err = open_above(below, &at);
		if (!err)
			err = sync_dir(at);
	}
	return err == -EXDEV ? 0 : err;
}

int durable_all(const struct store *store)
{
	return syncfs(store->root) < 0 ? -errno : 0;
}

int durable_commit(int fd)
{
	return fd_sync(fd);
}
