/* SPDX-License-Identifier: Apache-2.0 */

/*
 * To be preloaded: writes down, in one order, every call that changes something
 * below a directory, or brings it to disk (which is then only said). One line a
 * call, before it returns; inodes by number, names and data in hex. replay.py
 * reads it, and finds out whether a call is missing here.
 *
 *     TACFS_RECORD_ROOT  the directory, as an absolute path without links
 *     TACFS_RECORD_LOG   where the lines are appended
 *     TACFS_RECORD_TYPE  what fstatfs() says the file system is, a number
 */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <linux/fs.h>
#include <pthread.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/syscall.h>
#include <sys/vfs.h>
#include <unistd.h>

enum { LINK_SIZE = 32, OPEN_MODE = 0666 };

static pthread_mutex_t lock = PTHREAD_MUTEX_INITIALIZER;

/* A name: the directory that it is in, and where it begins in the path. */
struct name {
	ino_t dir;
	const char *text;
	bool recorded;
};

static bool is_below_root(int fd)
{
	const char *root = getenv("TACFS_RECORD_ROOT");
	char link[LINK_SIZE], path[PATH_MAX];
	size_t size = root ? strlen(root) : 0;
	ssize_t got;

	snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	got = readlink(link, path, sizeof(path) - 1);
	if (!size || got < (ssize_t)size)
		return false;
	path[got] = '\0';
	return strncmp(path, root, size) == 0 &&
	       (path[size] == '/' || !path[size]);
}

static ino_t inode_of(int fd)
{
	struct stat st;

	return fstat(fd, &st) == 0 ? st.st_ino : 0;
}

static ino_t inode_at(int dir, const char *path)
{
	struct stat st;

	return fstatat(dir, path, &st, AT_SYMLINK_NOFOLLOW) == 0 ? st.st_ino
								 : 0;
}

static struct name name_at(int dir, const char *path)
{
	const char *slash = strrchr(path, '/');
	struct name name = { .text = slash ? slash + 1 : path };
	char parent[PATH_MAX] = ".";
	int fd;

	if (slash)
		snprintf(parent, sizeof(parent), "%.*s",
			 (int)(slash - path + 1), path);
	fd = (int)syscall(SYS_openat, dir, parent,
			  O_PATH | O_DIRECTORY | O_CLOEXEC, 0);
	if (fd < 0)
		return name;
	name.dir = inode_of(fd);
	name.recorded = is_below_root(fd);
	close(fd);
	return name;
}

static int open_log(void)
{
	const char *path = getenv("TACFS_RECORD_LOG");
	int fd = (int)syscall(SYS_openat, AT_FDCWD, path ? path : "",
			      O_WRONLY | O_APPEND | O_CLOEXEC, 0);

	if (fd < 0 || flock(fd, LOCK_EX) < 0)
		abort();
	return fd;
}

/* Held while a call is made, by all processes that write to one log. */
static int begin(void)
{
	pthread_mutex_lock(&lock);
	return open_log();
}

static void end(int log)
{
	int kept = errno;

	close(log);
	pthread_mutex_unlock(&lock);
	errno = kept;
}

static void put(int log, const char *line, size_t size)
{
	if (syscall(SYS_write, log, line, size) != (ssize_t)size)
		abort();
}

__attribute__((format(printf, 2, 3))) static void tell(int log,
						       const char *format, ...)
{
	int kept = errno;
	char line[8 * PATH_MAX];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= sizeof(line))
		abort();
	put(log, line, (size_t)size);
	errno = kept;
}

static char *hex_of(const void *bytes, size_t size, char *text)
{
	static const char digits[] = "0123456789abcdef";
	const uint8_t *from = bytes;

	for (size_t i = 0; i < size; i++) {
		text[2 * i] = digits[from[i] >> 4];
		text[2 * i + 1] = digits[from[i] & 15];
	}
	text[2 * size] = '\0';
	return text;
}

struct hex {
	char text[2 * PATH_MAX];
};

static const char *name_hex(const char *name, struct hex *hex)
{
	return hex_of(name, strlen(name), hex->text);
}

/* Opening */

static bool makes(int flags)
{
	return (flags & O_CREAT) || (flags & O_TMPFILE) == O_TMPFILE;
}

static void tell_made(int log, int fd, const struct name *name)
{
	struct hex hex;
	struct stat st;

	if (fstat(fd, &st) < 0)
		abort();
	if (!name)
		tell(log, "tmpfile %ju %o\n", (uintmax_t)st.st_ino,
		     st.st_mode & 07777);
	else
		tell(log, "file %ju %o %ju %s\n", (uintmax_t)st.st_ino,
		     st.st_mode & 07777, (uintmax_t)name->dir,
		     name_hex(name->text, &hex));
}

static int open_recorded(int dir, const char *path, int flags, mode_t mode)
{
	struct name name = name_at(dir, path);
	int log = begin();
	bool nameless = (flags & O_TMPFILE) == O_TMPFILE;
	bool was = !nameless && inode_at(dir, path);
	int fd = (int)syscall(SYS_openat, dir, path, flags, mode);

	if (fd >= 0 && is_below_root(fd)) {
		if (nameless)
			tell_made(log, fd, NULL);
		else if (!was && (flags & O_CREAT))
			tell_made(log, fd, &name);
		else if (flags & O_TRUNC)
			tell(log, "truncate %ju 0\n", (uintmax_t)inode_of(fd));
	}
	end(log);
	return fd;
}

static int open_any(int dir, const char *path, int flags, mode_t mode)
{
	if (makes(flags) || (flags & O_TRUNC))
		return open_recorded(dir, path, flags, mode);
	return (int)syscall(SYS_openat, dir, path, flags, mode);
}

static mode_t mode_of(int flags, va_list args)
{
	return makes(flags) ? va_arg(args, mode_t) : OPEN_MODE;
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return open_any(AT_FDCWD, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_of(flags, args);
	va_end(args);
	return open_any(dir, path, flags, mode);
}

/* Names */

int mkdirat(int dir, const char *path, mode_t mode)
{
	struct name name = name_at(dir, path);
	struct hex hex;
	struct stat st;
	int log = begin();
	int result = (int)syscall(SYS_mkdirat, dir, path, mode);

	if (result == 0 && name.recorded && fstatat(dir, path, &st, 0) == 0)
		tell(log, "mkdir %ju %o %ju %s\n", (uintmax_t)st.st_ino,
		     st.st_mode & 07777, (uintmax_t)name.dir,
		     name_hex(name.text, &hex));
	end(log);
	return result;
}

int mkdir(const char *path, mode_t mode)
{
	return mkdirat(AT_FDCWD, path, mode);
}

int symlinkat(const char *target, int dir, const char *path)
{
	struct name name = name_at(dir, path);
	struct hex hex, target_hex;
	int log = begin();
	int result = (int)syscall(SYS_symlinkat, target, dir, path);

	if (result == 0 && name.recorded)
		tell(log, "symlink %ju %ju %s %s\n",
		     (uintmax_t)inode_at(dir, path), (uintmax_t)name.dir,
		     name_hex(name.text, &hex), name_hex(target, &target_hex));
	end(log);
	return result;
}

int linkat(int from_dir, const char *from, int dir, const char *path, int flags)
{
	struct name name = name_at(dir, path);
	struct hex hex;
	int log = begin();
	int result = (int)syscall(SYS_linkat, from_dir, from, dir, path, flags);

	if (result == 0 && name.recorded)
		tell(log, "link %ju %ju %s\n", (uintmax_t)inode_at(dir, path),
		     (uintmax_t)name.dir, name_hex(name.text, &hex));
	end(log);
	return result;
}

int renameat2(int from_dir, const char *from, int dir, const char *path,
	      unsigned flags)
{
	struct name old = name_at(from_dir, from);
	struct name name = name_at(dir, path);
	struct hex old_hex, hex;
	int log = begin();
	int result =
		(int)syscall(SYS_renameat2, from_dir, from, dir, path, flags);

	if (result == 0 && (old.recorded || name.recorded))
		tell(log, "rename %ju %s %ju %s %u\n", (uintmax_t)old.dir,
		     name_hex(old.text, &old_hex), (uintmax_t)name.dir,
		     name_hex(name.text, &hex), flags & RENAME_EXCHANGE);
	end(log);
	return result;
}

int renameat(int from_dir, const char *from, int dir, const char *path)
{
	return renameat2(from_dir, from, dir, path, 0);
}

int unlinkat(int dir, const char *path, int flags)
{
	struct name name = name_at(dir, path);
	struct hex hex;
	int log = begin();
	int result = (int)syscall(SYS_unlinkat, dir, path, flags);

	if (result == 0 && name.recorded)
		tell(log, "unlink %ju %s\n", (uintmax_t)name.dir,
		     name_hex(name.text, &hex));
	end(log);
	return result;
}

/* Files */

static void tell_written(int log, int fd, const void *bytes, size_t size,
			 off_t offset)
{
	char *hex = malloc(2 * size + 1);

	if (!hex)
		abort();
	tell(log, "write %ju %jd ", (uintmax_t)inode_of(fd), (intmax_t)offset);
	put(log, hex_of(bytes, size, hex), 2 * size);
	put(log, "\n", 1);
	free(hex);
	if (fcntl(fd, F_GETFL) & O_DSYNC)
		tell(log, "fdatasync %ju\n", (uintmax_t)inode_of(fd));
}

/* At `offset`, or, with -1, where the descriptor stands. */
static ssize_t write_any(int fd, const void *bytes, size_t size, off_t offset)
{
	bool appends = offset < 0;
	ssize_t result;
	int log;

	if (!is_below_root(fd))
		return appends ? syscall(SYS_write, fd, bytes, size)
			       : syscall(SYS_pwrite64, fd, bytes, size, offset);
	log = begin();
	result = appends ? syscall(SYS_write, fd, bytes, size)
			 : syscall(SYS_pwrite64, fd, bytes, size, offset);
	if (result > 0)
		tell_written(log, fd, bytes, (size_t)result,
			     appends ? lseek(fd, 0, SEEK_CUR) - result
				     : offset);
	end(log);
	return result;
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	return write_any(fd, bytes, size, -1);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off_t offset)
{
	return write_any(fd, bytes, size, offset);
}

int fchmod(int fd, mode_t mode)
{
	bool recorded = is_below_root(fd);
	int log = begin();
	int result = (int)syscall(SYS_fchmod, fd, mode);

	if (result == 0 && recorded)
		tell(log, "chmod %ju %o\n", (uintmax_t)inode_of(fd), mode);
	end(log);
	return result;
}

int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	struct name name = name_at(dir, path);
	int log = begin();
	int result = (int)syscall(SYS_fchmodat, dir, path, mode);

	(void)flags;
	if (result == 0 && name.recorded)
		tell(log, "chmod %ju %o\n", (uintmax_t)inode_at(dir, path),
		     mode);
	end(log);
	return result;
}

int ftruncate64(int fd, off_t size)
{
	bool recorded = is_below_root(fd);
	int log = begin();
	int result = (int)syscall(SYS_ftruncate, fd, size);

	if (result == 0 && recorded)
		tell(log, "truncate %ju %jd\n", (uintmax_t)inode_of(fd),
		     (intmax_t)size);
	end(log);
	return result;
}

/* To disk: only said, for nothing here has to outlive a power loss. */

static int sync_recorded(int fd, const char *what)
{
	int log;

	if (fcntl(fd, F_GETFL) & O_PATH) {
		errno = EBADF;
		return -1;
	}
	log = begin();
	tell(log, "%s %ju\n", what, (uintmax_t)inode_of(fd));
	end(log);
	return 0;
}

int fsync(int fd)
{
	return is_below_root(fd) ? sync_recorded(fd, "fsync")
				 : (int)syscall(SYS_fsync, fd);
}

int fdatasync(int fd)
{
	return is_below_root(fd) ? sync_recorded(fd, "fdatasync")
				 : (int)syscall(SYS_fdatasync, fd);
}

int syncfs(int fd)
{
	return is_below_root(fd) ? sync_recorded(fd, "syncfs")
				 : (int)syscall(SYS_syncfs, fd);
}

int sync_file_range(int fd, off_t offset, off_t size, unsigned flags)
{
	int log;

	if (!is_below_root(fd))
		return (int)syscall(SYS_sync_file_range, fd, offset, size,
				    flags);
	log = begin();
	tell(log, "range %ju %jd %jd %o\n", (uintmax_t)inode_of(fd),
	     (intmax_t)offset, (intmax_t)size, flags);
	end(log);
	return 0;
}

int fstatfs64(int fd, struct statfs64 *fs)
{
	const char *type = getenv("TACFS_RECORD_TYPE");
	int result = (int)syscall(SYS_fstatfs, fd, fs);

	if (result == 0 && type && is_below_root(fd))
		fs->f_type = strtol(type, NULL, 0);
	return result;
}
