/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/mountpoint.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mount.h>
#include <sys/stat.h>
#include <sys/vfs.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/mount/mounted_at.h"
#include "fs/own.h"

enum {
	STACKED_MAX = 64,
	DIRECTORY_FLAGS = O_PATH | O_DIRECTORY | O_CLOEXEC,
	CLAIM_SECONDS = 10,
	CLAIM_PER_SECOND = 50
};

static const char type_name[] = "fuse.tacfs";

/* Asks the daemon: what stat(2) says may be what the kernel still knows. */
static bool is_dead(int fd)
{
	struct statfs st;

	return fstatfs(fd, &st) < 0 &&
	       (errno == ENOTCONN || errno == ECONNABORTED);
}

static bool is_root_of(int fd, const struct mounted_at *mounted)
{
	char path[PATH_MAX];

	return fd_path(fd, path) == 0 && strcmp(path, mounted->path) == 0;
}

/* What users other than root unmount with. It says itself what is wrong. */
static int run_fusermount(const char *path)
{
	pid_t child = fork();
	int status = 0;

	if (child == 0) {
		execlp("fusermount3", "fusermount3", "-u", "-z", "--", path,
		       (char *)NULL);
		_exit(127);
	}
	if (child < 0 || waitpid(child, &status, 0) < 0)
		return -errno;
	return WIFEXITED(status) && WEXITSTATUS(status) == 0 ? 0 : -EPERM;
}

static int detach(const char *path)
{
	int err = umount2(path, MNT_DETACH | UMOUNT_NOFOLLOW) < 0 ? -errno : 0;

	return err == -EPERM ? run_fusermount(path) : err;
}

static int unmount(const char *path, char *why, size_t why_size)
{
	int err = detach(path);

	if (err)
		snprintf(why, why_size,
			 "the daemon of the mount there is gone, and it cannot "
			 "be unmounted: %s",
			 strerror(-err));
	return err;
}

/* 1 when something was unmounted: there may be another below. */
static int clear_one(int fd, char *why, size_t why_size)
{
	struct mounted_at mounted;
	int err = mounted_at_find(fd, &mounted);

	if (err)
		return err == -ENOENT ? 0 : err;
	if (strcmp(mounted.type, type_name) == 0 && is_root_of(fd, &mounted)) {
		if (is_dead(fd)) {
			err = unmount(mounted.path, why, why_size);
			err = err ? err : 1;
		} else {
			snprintf(why, why_size,
				 "%s is mounted there already; "
				 "unmount that first",
				 mounted.source);
			err = -EBUSY;
		}
	}
	mounted_at_free(&mounted);
	return err;
}

int mountpoint_clear(const char *mountpoint, char *why, size_t why_size)
{
	int cleared = 1;

	snprintf(why, why_size, "%s", strerror(ENOMEM));
	for (int i = 0; i < STACKED_MAX && cleared > 0; i++) {
		AUTO_CLOSE int fd = open(mountpoint, DIRECTORY_FLAGS);

		if (fd < 0)
			return 0; /* mounting will say why */
		cleared = clear_one(fd, why, why_size);
	}
	return cleared < 0 ? cleared : 0;
}

void mountpoint_claim(const char *mountpoint, int *fd)
{
	const struct timespec pause = { .tv_nsec =
						1000000000 / CLAIM_PER_SECOND };

	*fd = open(mountpoint, O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	if (*fd < 0)
		return;
	for (int i = 0; i < CLAIM_SECONDS * CLAIM_PER_SECOND; i++) {
		if (flock(*fd, LOCK_EX | LOCK_NB) == 0)
			return;
		if (errno != EWOULDBLOCK)
			break;
		nanosleep(&pause, NULL);
	}
	close(*fd);
	*fd = -1;
}

long mountpoint_id(const char *mountpoint)
{
	AUTO_CLOSE int fd = open(mountpoint, DIRECTORY_FLAGS);
	struct mounted_at mounted;
	long id;

	if (fd < 0 || mounted_at_find(fd, &mounted) != 0)
		return -1;
	id = mounted.id;
	mounted_at_free(&mounted);
	return id;
}

int mountpoint_leave(const char *mountpoint, long id)
{
	long now;

	if (id < 0)
		return -ENOENT;
	now = mountpoint_id(mountpoint);
	if (now < 0)
		return errno == ENOENT ? 0 : -EIO;
	return now == id ? detach(mountpoint) : 0;
}

/* Whether the walk from `fd` up to the root meets the directory. */
static bool is_within(int fd, const struct stat *directory)
{
	AUTO_CLOSE int here = fd_open(fd, ".", DIRECTORY_FLAGS, 0);
	struct stat before = { 0 };
	struct stat st;

	while (here >= 0 && fd_stat(here, &st) == 0) {
		int up;

		if (st.st_dev == directory->st_dev &&
		    st.st_ino == directory->st_ino)
			return true;
		if (st.st_dev == before.st_dev && st.st_ino == before.st_ino)
			return false; /* the root is its own parent */
		before = st;
		up = fd_open(here, "..", DIRECTORY_FLAGS, 0);
		close(here);
		here = up;
	}
	return false;
}

/* The store, or the directory that it is going to be made in. */
static int open_store(const char *path, bool *exists)
{
	int fd = open(path, DIRECTORY_FLAGS);
	AUTO_FREE char *parent = NULL;
	char *end;

	*exists = fd >= 0;
	if (fd >= 0 || errno != ENOENT)
		return fd;
	if (asprintf(&parent, "./%s", path) < 0)
		return -1;
	for (end = parent + strlen(parent); end[-1] == '/'; end--)
		end[-1] = '\0';
	end = strrchr(parent, '/');
	*end = '\0';
	return open(*path == '/' ? parent + 1 : parent, DIRECTORY_FLAGS);
}

int mountpoint_apart(const char *store, const char *mountpoint, char *why,
		     size_t why_size)
{
	bool exists;
	AUTO_CLOSE int inner = open_store(store, &exists);
	AUTO_CLOSE int outer = open(mountpoint, DIRECTORY_FLAGS);
	struct stat store_st;
	struct stat mount_st;

	if (inner < 0 || outer < 0 || fd_stat(inner, &store_st) < 0 ||
	    fd_stat(outer, &mount_st) < 0)
		return 0; /* mounting will say why */
	if (is_within(inner, &mount_st)) {
		snprintf(why, why_size,
			 "the store %s is inside: the mount would hide it",
			 store);
		return -EINVAL;
	}
	if (exists && is_within(outer, &store_st)) {
		snprintf(why, why_size, "it is inside the store %s", store);
		return -EINVAL;
	}
	return 0;
}
