/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/random.h"

enum { NAME_DIGITS = 16, PROC_PATH_SIZE = 32, ATTEMPTS = 16 };

static const char draft_prefix[] = "draft-";

int fd_open(int dir, const char *name, int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(dir, name, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int fd_sync(int fd)
{
	int result;

	do
		result = fsync(fd);
	while (result < 0 && errno == EINTR);
	return result < 0 ? -errno : 0;
}

int fd_read_at(int fd, void *bytes, size_t size, uint64_t offset)
{
	uint8_t *to = bytes;

	while (size) {
		ssize_t got = pread(fd, to, size, (off_t)offset);

		if (got < 0 && errno == EINTR)
			continue;
		if (got < 0)
			return -errno;
		if (!got)
			return -ENODATA;
		to += got;
		size -= (size_t)got;
		offset += (size_t)got;
	}
	return 0;
}

int fd_write_at(int fd, const void *bytes, size_t size, uint64_t offset)
{
	const uint8_t *from = bytes;

	while (size) {
		ssize_t put = pwrite(fd, from, size, (off_t)offset);

		if (put < 0 && errno == EINTR)
			continue;
		if (put < 0)
			return -errno;
		if (!put)
			return -EIO;
		from += put;
		size -= (size_t)put;
		offset += (size_t)put;
	}
	return 0;
}

/* What a file system, or a kernel, without O_TMPFILE answers. */
static bool lacks_tmpfile(int err)
{
	return err == -EOPNOTSUPP || err == -EISDIR || err == -EINVAL ||
	       err == -ENOENT;
}

static int open_nameless(int dir, int flags, mode_t mode)
{
	int fd = fd_open(dir, ".", O_TMPFILE | O_RDWR | flags, mode);

	return fd < 0 ? -errno : fd;
}

int fd_draft_new_name(char name[FD_DRAFT_NAME_SIZE])
{
	memcpy(name, draft_prefix, sizeof(draft_prefix));
	return random_hex(name + sizeof(draft_prefix) - 1, NAME_DIGITS);
}

static int open_named(int dir, mode_t mode, char name[FD_DRAFT_NAME_SIZE])
{
	for (int i = 0; i < ATTEMPTS; i++) {
		int err = fd_draft_new_name(name);
		int fd;

		if (err)
			return err;
		fd = fd_open(dir, name, O_CREAT | O_EXCL | O_RDWR, mode);
		if (fd >= 0)
			return fd;
		if (errno != EEXIST)
			return -errno;
	}
	return -EEXIST;
}

bool fd_draft_name_is(const char *name)
{
	size_t prefix = sizeof(draft_prefix) - 1;

	return strncmp(name, draft_prefix, prefix) == 0 &&
	       strlen(name) == prefix + NAME_DIGITS &&
	       strspn(name + prefix, "0123456789abcdef") == NAME_DIGITS;
}

int fd_temp(int dir)
{
	char name[FD_DRAFT_NAME_SIZE];
	int fd = open_nameless(dir, O_EXCL, 0600);

	if (!lacks_tmpfile(fd))
		return fd;
	fd = open_named(dir, 0600, name);
	if (fd >= 0)
		unlinkat(dir, name, 0);
	return fd;
}

int fd_draft_open(int tmp, mode_t mode, struct fd_draft *draft)
{
	struct fd_draft made = { .tmp = tmp };

	made.fd = open_nameless(tmp, 0, mode);
	if (lacks_tmpfile(made.fd))
		made.fd = open_named(tmp, mode, made.name);
	if (made.fd < 0)
		return made.fd;
	if ((mode & 077) && fchmod(made.fd, mode) < 0) {
		int err = -errno;

		fd_draft_close(&made);
		return err;
	}
	*draft = made;
	return 0;
}

/* Without /proc the kernel may still allow it, to those who may read all. */
static int link_nameless(int fd, int dir, const char *name)
{
	char path[PROC_PATH_SIZE];

	snprintf(path, sizeof(path), "/proc/self/fd/%d", fd);
	if (linkat(AT_FDCWD, path, dir, name, AT_SYMLINK_FOLLOW) == 0)
		return 0;
	if (errno == ENOENT && linkat(fd, "", dir, name, AT_EMPTY_PATH) == 0)
		return 0;
	return -errno;
}

/*
 * A network file system may answer a repeated request for a link that it made
 * the first time with EEXIST; a second name tells.
 */
static int link_named(const struct fd_draft *draft, int dir, const char *name)
{
	struct stat st;

	if (linkat(draft->tmp, draft->name, dir, name, 0) == 0)
		return 0;
	if (errno != EEXIST)
		return -errno;
	if (fstat(draft->fd, &st) < 0 || st.st_nlink != 2)
		return -EEXIST;
	return 0;
}

int fd_draft_link(struct fd_draft *draft, int dir, const char *name)
{
	int err;

	if (!draft->name[0])
		return link_nameless(draft->fd, dir, name);
	err = link_named(draft, dir, name);
	if (err)
		return err;
	unlinkat(draft->tmp, draft->name, 0);
	draft->name[0] = '\0';
	return 0;
}

/* A nameless file cannot replace another: it needs a name to be moved from. */
int fd_draft_name(struct fd_draft *draft)
{
	char name[FD_DRAFT_NAME_SIZE];
	int err = 0;

	if (draft->name[0])
		return 0;
	for (int i = 0; i < ATTEMPTS; i++) {
		err = fd_draft_new_name(name);
		if (!err)
			err = link_nameless(draft->fd, draft->tmp, name);
		if (err != -EEXIST)
			break;
	}
	if (!err)
		memcpy(draft->name, name, sizeof(name));
	return err;
}

int fd_draft_replace(struct fd_draft *draft, int dir, const char *name)
{
	int err = fd_draft_name(draft);

	if (err)
		return err;
	if (renameat(draft->tmp, draft->name, dir, name) < 0)
		return -errno;
	draft->name[0] = '\0';
	return 0;
}

void fd_draft_close(struct fd_draft *draft)
{
	if (draft->name[0])
		unlinkat(draft->tmp, draft->name, 0);
	if (draft->fd >= 0)
		close(draft->fd);
	draft->fd = -1;
	draft->name[0] = '\0';
}
