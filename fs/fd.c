/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fd.h"

#include <errno.h>
#include <fcntl.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/sysmacros.h>
#include <unistd.h>

#include "fs/random.h"

enum { NAME_DIGITS = 16, ATTEMPTS = 16 };

static const char draft_prefix[] = "draft-";

int fd_open(int dir, const char *name, int flags, mode_t mode)
{
	int fd;

	do
		fd = openat(dir, name, flags | O_CLOEXEC, mode);
	while (fd < 0 && errno == EINTR);
	return fd;
}

int fd_stat(int fd, struct stat *st)
{
	int result;

	do
		result = fstat(fd, st);
	while (result < 0 && errno == EINTR);
	return result;
}

int fd_stat_at(int dir, const char *name, struct stat *st)
{
	int result;

	do
		result = fstatat(dir, name, st, AT_SYMLINK_NOFOLLOW);
	while (result < 0 && errno == EINTR);
	return result;
}

int fd_identify(int fd, struct fd_identity *identity)
{
	struct statx st;
	int result;

	do
		result = statx(fd, "", AT_EMPTY_PATH, STATX_INO | STATX_BTIME,
			       &st);
	while (result < 0 && errno == EINTR);
	if (result < 0)
		return -errno;
	*identity = (struct fd_identity){
		.device = makedev(st.stx_dev_major, st.stx_dev_minor),
		.inode = st.stx_ino,
	};
	if (st.stx_mask & STATX_BTIME) {
		identity->birth.tv_sec = st.stx_btime.tv_sec;
		identity->birth.tv_nsec = st.stx_btime.tv_nsec;
	}
	return 0;
}

bool fd_is_same(const struct fd_identity *a, const struct fd_identity *b)
{
	return a->device == b->device && a->inode == b->inode &&
	       a->birth.tv_sec == b->birth.tv_sec &&
	       a->birth.tv_nsec == b->birth.tv_nsec;
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

void fd_link(int fd, char link[FD_LINK_SIZE])
{
	snprintf(link, FD_LINK_SIZE, "/proc/self/fd/%d", fd);
}

int fd_path(int fd, char path[PATH_MAX])
{
	char link[FD_LINK_SIZE];
	ssize_t size;

	fd_link(fd, link);
	size = readlink(link, path, PATH_MAX);
	path[size < 0 || size == PATH_MAX ? 0 : size] = '\0';
	if (size < 0)
		return -errno;
	return size == PATH_MAX ? -ENAMETOOLONG : 0;
}

void fd_ask_names(int dir)
{
	int fd = fd_open(dir, ".", O_RDONLY | O_DIRECTORY, 0);

	if (fd >= 0)
		close(fd);
}

/* The times of others' directories may not be left alone. */
static int open_list(int dir, const char *name)
{
	const int flags = O_RDONLY | O_DIRECTORY | O_NOFOLLOW;
	int fd = fd_open(dir, name, flags | O_NOATIME, 0);

	if (fd < 0 && errno == EPERM)
		fd = fd_open(dir, name, flags, 0);
	return fd < 0 ? -errno : fd;
}

int fd_open_list(int dir, const char *name)
{
	int fd = open_list(dir, name);

	if (fd != -ENOENT)
		return fd;
	fd_ask_names(dir);
	return open_list(dir, name);
}

DIR *fd_list(int dir, const char *name)
{
	int fd = fd_open_list(dir, name);
	DIR *stream;

	if (fd < 0) {
		errno = -fd;
		return NULL;
	}
	stream = fdopendir(fd);
	if (!stream)
		close(fd);
	return stream;
}

struct dirent *fd_list_next(DIR *stream)
{
	struct dirent *entry;

	do {
		errno = 0;
		entry = readdir(stream);
	} while (entry && (strcmp(entry->d_name, ".") == 0 ||
			   strcmp(entry->d_name, "..") == 0));
	return entry;
}

/* What a file system, or a kernel, without O_TMPFILE answers. */
static bool lacks_tmpfile(int err)
{
	return err == -EOPNOTSUPP || err == -EISDIR || err == -EINVAL ||
	       err == -ENOENT;
}

/* What a file system, or a kernel, answers that cannot make this link. */
static bool lacks_links(int err)
{
	return err == -EPERM || err == -EOPNOTSUPP || err == -ENOSYS ||
	       err == -EMLINK;
}

static int claim(int from_dir, const char *from, int to_dir, const char *to)
{
	struct stat st;
	int fd;

	if (fd_stat_at(from_dir, from, &st) < 0)
		return -errno;
	if (S_ISDIR(st.st_mode))
		return mkdirat(to_dir, to, 0700) < 0 ? -errno : 0;
	fd = fd_open(to_dir, to, O_WRONLY | O_CREAT | O_EXCL, FD_CLAIM_MODE);
	if (fd < 0)
		return -errno;
	close(fd);
	return 0;
}

bool fd_is_claim(const struct stat *st)
{
	return S_ISREG(st->st_mode) && !st->st_size &&
	       (st->st_mode & 07777) == FD_CLAIM_MODE;
}

/* Unless somebody else has replaced it. */
static void drop_claim(int dir, const char *name)
{
	struct stat st;

	if (fd_stat_at(dir, name, &st) < 0)
		return;
	if (S_ISDIR(st.st_mode))
		unlinkat(dir, name, AT_REMOVEDIR);
	else if (fd_is_claim(&st))
		unlinkat(dir, name, 0);
}

static int rename_claimed(int from_dir, const char *from, int to_dir,
			  const char *to)
{
	int err = claim(from_dir, from, to_dir, to);

	if (err)
		return err;
	if (renameat(from_dir, from, to_dir, to) == 0)
		return 0;
	err = errno == ENOTEMPTY ? -EEXIST : -errno;
	drop_claim(to_dir, to);
	return err;
}

int fd_move_new(int from_dir, const char *from, int to_dir, const char *to)
{
	int err;

	/* In one step where that can be: no crash leaves it without a name. */
	if (renameat2(from_dir, from, to_dir, to, RENAME_NOREPLACE) == 0)
		return 0;
	if (errno != EINVAL && errno != ENOSYS && errno != EOPNOTSUPP)
		return -errno;
	err = linkat(from_dir, from, to_dir, to, 0) < 0 ? -errno : 0;
	if (lacks_links(err))
		return rename_claimed(from_dir, from, to_dir, to);
	/* By now `to` may be another's, so this is not undone. */
	if (!err && unlinkat(from_dir, from, 0) < 0 && errno != ENOENT)
		err = -errno;
	return err;
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
	char path[FD_LINK_SIZE];

	fd_link(fd, path);
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
static bool was_linked(const struct fd_draft *draft)
{
	struct stat st;

	return fd_stat(draft->fd, &st) == 0 && st.st_nlink == 2;
}

static int copy_bytes(int from, int to, uint64_t size)
{
	char piece[16 * 1024];

	for (uint64_t at = 0; at < size;) {
		size_t part = size - at < sizeof(piece) ? (size_t)(size - at)
							: sizeof(piece);
		int err = fd_read_at(from, piece, part, at);

		if (!err)
			err = fd_write_at(to, piece, part, at);
		if (err)
			return err;
		at += part;
	}
	return 0;
}

/*
 * Where there are nameless files, but no links, a copy of it gets the name. It
 * is on disk then, whether the draft was or not.
 */
static int name_copy(struct fd_draft *draft)
{
	struct fd_draft copy = { .tmp = draft->tmp };
	struct stat st;
	int err = fd_stat(draft->fd, &st) < 0 ? -errno : 0;

	if (err)
		return err;
	copy.fd = open_named(copy.tmp, st.st_mode & 0777, copy.name);
	if (copy.fd < 0)
		return copy.fd;
	err = copy_bytes(draft->fd, copy.fd, (uint64_t)st.st_size);
	if (!err &&
	    (fchmod(copy.fd, st.st_mode & 0777) < 0 || fsync(copy.fd) < 0))
		err = -errno;
	if (err) {
		fd_draft_close(&copy);
		return err;
	}
	fd_draft_close(draft);
	*draft = copy;
	return 0;
}

int fd_draft_link(struct fd_draft *draft, int dir, const char *name)
{
	int err = 0;

	if (!draft->name[0])
		err = link_nameless(draft->fd, dir, name);
	if (!draft->name[0] && lacks_links(err))
		err = name_copy(draft);
	if (!draft->name[0])
		return err;
	err = fd_move_new(draft->tmp, draft->name, dir, name);
	if (err == -EEXIST && was_linked(draft)) {
		unlinkat(draft->tmp, draft->name, 0);
		err = 0;
	}
	if (!err)
		draft->name[0] = '\0';
	return err;
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
	return lacks_links(err) ? name_copy(draft) : err;
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
