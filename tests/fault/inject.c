/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Makes calls on files of a store fail, to be preloaded (LD_PRELOAD).
 *
 *     INJECT_STORE    the store's real path: only what is at it and below
 * counts INJECT_CONTROL  a file of CONTROL_SIZE zero bytes, mapped by whoever
 * plans
 *
 * There is a wrapper for every call on files that tacfs makes, and each is a
 * kind of its own; test_inject.py fails when one is missing. The names of the
 * kinds are written to the control file, and how often each was called is
 * counted there, so a test learns from it what there is to make fail.
 */
#define _GNU_SOURCE
#include <dirent.h>
#include <dlfcn.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/mman.h>
#include <sys/stat.h>
#include <sys/statfs.h>
#include <sys/statvfs.h>
#include <sys/syscall.h>
#include <sys/xattr.h>
#include <unistd.h>

/* clang-format off */
#define KINDS(K) \
	K(chmod) K(close) K(faccessat) K(fallocate64) K(fchmod) K(fchmodat) \
	K(fdopendir) K(flock) K(fopen64) K(fstat64) K(fstatat64) K(fstatfs64) \
	K(fstatvfs64) K(fsync) K(ftruncate64) K(futimens) K(getxattr) \
	K(linkat) K(listxattr) K(lseek64) K(mkdir) K(mkdirat) K(mmap64) K(open64) \
	K(openat64) K(pread64) K(pwrite64) K(read) K(readdir64) \
	K(readlinkat) K(realpath) K(removexattr) K(renameat) K(renameat2) \
	K(setxattr) K(stat64) K(statx) K(symlinkat) K(sync_file_range) K(syncfs) \
	K(unlinkat) K(utimensat) K(write)
/* clang-format on */

enum kind {
#define K(name) KIND_##name,
	KINDS(K)
#undef K
		KIND_COUNT
};

enum { CONTROL_SIZE = 4096, NAME_SIZE = 24, PLACE_SIZE = 2 * PATH_MAX };

/* test_inject.py has the same layout. */
struct control {
	uint32_t kind; /* which is to fail; any other number: none */
	uint32_t
		error; /* an errno; 0: half as many bytes are read or written */
	uint32_t first; /* which call of this kind, from 1 */
	uint32_t stays; /* whether all that follow fail, too */
	uint32_t fired; /* how many have failed */
	uint32_t stats; /* whether calls below stats/ count */
	uint32_t kinds; /* how many there are */
	uint32_t unused;
	struct {
		char name[NAME_SIZE];
		uint32_t count;
	} calls[KIND_COUNT];
};
_Static_assert(sizeof(struct control) <= CONTROL_SIZE, "the control file");

static const char *const names[] = {
#define K(name) [KIND_##name] = #name,
	KINDS(K)
#undef K
};

static void *nexts[KIND_COUNT];
static struct control *control;
static char store[PATH_MAX];

static void *next_of(enum kind kind)
{
	void *next = __atomic_load_n(&nexts[kind], __ATOMIC_RELAXED);

	if (!next) {
		next = dlsym(RTLD_NEXT, names[kind]);
		__atomic_store_n(&nexts[kind], next, __ATOMIC_RELAXED);
	}
	return next;
}

#define NEXT(name) ((__typeof__(&name))next_of(KIND_##name))

/* Commands that the program starts are none of ours. */
__attribute__((constructor)) static void start(void)
{
	const char *path = getenv("INJECT_CONTROL");
	const char *root = getenv("INJECT_STORE");
	int fd = path && root ? NEXT(open64)(path, O_RDWR | O_CLOEXEC) : -1;
	void *map;

	unsetenv("LD_PRELOAD");
	if (fd < 0)
		return;
	map = NEXT(mmap64)(NULL, CONTROL_SIZE, PROT_READ | PROT_WRITE,
			   MAP_SHARED, fd, 0);
	NEXT(close)(fd);
	if (map == MAP_FAILED)
		return;
	snprintf(store, sizeof(store), "%s", root);
	control = map;
	for (size_t i = 0; i < KIND_COUNT; i++)
		strncpy(control->calls[i].name, names[i], NAME_SIZE - 1);
	control->kinds = KIND_COUNT;
}

/* The path of a descriptor in `place`; how long it is. */
static size_t path_of(int fd, char place[PLACE_SIZE])
{
	char link[32];
	long size;

	if (fd == AT_FDCWD)
		snprintf(link, sizeof(link), "/proc/self/cwd");
	else
		snprintf(link, sizeof(link), "/proc/self/fd/%d", fd);
	size = syscall(SYS_readlink, link, place, PATH_MAX);
	size = size < 0 ? 0 : size;
	place[size] = '\0';
	return (size_t)size;
}

static bool is_counted(const char *place)
{
	size_t size = strlen(store);

	if (strncmp(place, store, size) != 0)
		return false;
	if (strncmp(place + size, "/stats", 6) == 0 && !control->stats)
		return false;
	return !place[size] || place[size] == '/' || place[size] == ' ';
}

static bool is_ours_at(int dir, const char *path)
{
	char place[PLACE_SIZE];
	int saved = errno;
	int fd;

	if (!control)
		return false;
	if (sscanf(path, "/proc/self/fd/%d", &fd) == 1) {
		path_of(fd, place);
	} else if (*path == '/') {
		snprintf(place, sizeof(place), "%s", path);
	} else {
		size_t size = path_of(dir, place);

		if (*path && strcmp(path, ".") != 0)
			snprintf(place + size, sizeof(place) - size, "/%s",
				 path);
	}
	errno = saved;
	return is_counted(place);
}

static bool is_ours(int fd)
{
	return fd >= 0 && is_ours_at(fd, "");
}

enum answer { GO_ON, FAIL, HALVE };

static enum answer ask(enum kind kind, bool ours)
{
	uint32_t count;

	if (!ours)
		return GO_ON;
	count = __atomic_add_fetch(&control->calls[kind].count, 1,
				   __ATOMIC_SEQ_CST);
	if (__atomic_load_n(&control->kind, __ATOMIC_SEQ_CST) != kind ||
	    count < control->first ||
	    (count > control->first && !control->stays))
		return GO_ON;
	__atomic_add_fetch(&control->fired, 1, __ATOMIC_SEQ_CST);
	if (!control->error)
		return HALVE;
	errno = (int)control->error;
	return FAIL;
}

static size_t part_of(enum answer answer, size_t size)
{
	return answer == HALVE && size > 1 ? size / 2 : size;
}

/* A call that says -1, or NULL, when it fails. */
#define CALL(name, ours, failed, ...)                                          \
	do {                                                                   \
		if (ask(KIND_##name, ours) == FAIL)                            \
			return failed;                                         \
		return NEXT(name)(__VA_ARGS__);                                \
	} while (0)

/* As the kernel does: the descriptor is gone whatever it says. */
int close(int fd)
{
	enum answer answer = ask(KIND_close, is_ours(fd));
	int error = errno;
	int result = NEXT(close)(fd);

	if (answer != FAIL)
		return result;
	errno = error;
	return -1;
}

static mode_t mode_in(int flags, va_list *args)
{
	return flags & (O_CREAT | __O_TMPFILE) ? va_arg(*args, mode_t) : 0;
}

int open64(const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_in(flags, &args);
	va_end(args);
	CALL(open64, is_ours_at(AT_FDCWD, path), -1, path, flags, mode);
}

int openat64(int dir, const char *path, int flags, ...)
{
	va_list args;
	mode_t mode;

	va_start(args, flags);
	mode = mode_in(flags, &args);
	va_end(args);
	CALL(openat64, is_ours_at(dir, path), -1, dir, path, flags, mode);
}

/* What these two are called when the compiler checks their arguments. */
int __open64_2(const char *path, int flags)
{
	return open64(path, flags);
}

int __openat64_2(int dir, const char *path, int flags)
{
	return openat64(dir, path, flags);
}

FILE *fopen64(const char *path, const char *mode)
{
	CALL(fopen64, is_ours_at(AT_FDCWD, path), NULL, path, mode);
}

char *realpath(const char *path, char *resolved)
{
	CALL(realpath, is_ours_at(AT_FDCWD, path), NULL, path, resolved);
}

ssize_t read(int fd, void *bytes, size_t size)
{
	enum answer answer = ask(KIND_read, is_ours(fd));

	return answer == FAIL ? -1
			      : NEXT(read)(fd, bytes, part_of(answer, size));
}

ssize_t write(int fd, const void *bytes, size_t size)
{
	enum answer answer = ask(KIND_write, is_ours(fd));

	return answer == FAIL ? -1
			      : NEXT(write)(fd, bytes, part_of(answer, size));
}

ssize_t pread64(int fd, void *bytes, size_t size, off64_t offset)
{
	enum answer answer = ask(KIND_pread64, is_ours(fd));

	return answer == FAIL ? -1
			      : NEXT(pread64)(fd, bytes, part_of(answer, size),
					      offset);
}

ssize_t pwrite64(int fd, const void *bytes, size_t size, off64_t offset)
{
	enum answer answer = ask(KIND_pwrite64, is_ours(fd));

	return answer == FAIL ? -1
			      : NEXT(pwrite64)(fd, bytes, part_of(answer, size),
					       offset);
}

int fsync(int fd)
{
	CALL(fsync, is_ours(fd), -1, fd);
}

int syncfs(int fd)
{
	CALL(syncfs, is_ours(fd), -1, fd);
}

int sync_file_range(int fd, off64_t offset, off64_t size, unsigned flags)
{
	CALL(sync_file_range, is_ours(fd), -1, fd, offset, size, flags);
}

int ftruncate64(int fd, off64_t size)
{
	CALL(ftruncate64, is_ours(fd), -1, fd, size);
}

off64_t lseek64(int fd, off64_t offset, int whence)
{
	CALL(lseek64, is_ours(fd), -1, fd, offset, whence);
}

int fallocate64(int fd, int mode, off64_t offset, off64_t size)
{
	CALL(fallocate64, is_ours(fd), -1, fd, mode, offset, size);
}

void *mmap64(void *at, size_t size, int protection, int flags, int fd,
	     off64_t offset)
{
	CALL(mmap64, is_ours(fd), MAP_FAILED, at, size, protection, flags, fd,
	     offset);
}

int flock(int fd, int operation)
{
	CALL(flock, is_ours(fd), -1, fd, operation);
}

int stat64(const char *path, struct stat64 *st)
{
	CALL(stat64, is_ours_at(AT_FDCWD, path), -1, path, st);
}

int fstat64(int fd, struct stat64 *st)
{
	CALL(fstat64, is_ours(fd), -1, fd, st);
}

int statx(int dir, const char *path, int flags, unsigned mask, struct statx *st)
{
	CALL(statx, is_ours_at(dir, path), -1, dir, path, flags, mask, st);
}

int fstatat64(int dir, const char *path, struct stat64 *st, int flags)
{
	CALL(fstatat64, is_ours_at(dir, path), -1, dir, path, st, flags);
}

int fstatfs64(int fd, struct statfs64 *fs)
{
	CALL(fstatfs64, is_ours(fd), -1, fd, fs);
}

int fstatvfs64(int fd, struct statvfs64 *fs)
{
	CALL(fstatvfs64, is_ours(fd), -1, fd, fs);
}

int faccessat(int dir, const char *path, int mode, int flags)
{
	CALL(faccessat, is_ours_at(dir, path), -1, dir, path, mode, flags);
}

int chmod(const char *path, mode_t mode)
{
	CALL(chmod, is_ours_at(AT_FDCWD, path), -1, path, mode);
}

int fchmod(int fd, mode_t mode)
{
	CALL(fchmod, is_ours(fd), -1, fd, mode);
}

int fchmodat(int dir, const char *path, mode_t mode, int flags)
{
	CALL(fchmodat, is_ours_at(dir, path), -1, dir, path, mode, flags);
}

int futimens(int fd, const struct timespec times[2])
{
	CALL(futimens, is_ours(fd), -1, fd, times);
}

int utimensat(int dir, const char *path, const struct timespec times[2],
	      int flags)
{
	CALL(utimensat, is_ours_at(dir, path), -1, dir, path, times, flags);
}

DIR *fdopendir(int fd)
{
	CALL(fdopendir, is_ours(fd), NULL, fd);
}

struct dirent64 *readdir64(DIR *stream)
{
	CALL(readdir64, is_ours(dirfd(stream)), NULL, stream);
}

int mkdir(const char *path, mode_t mode)
{
	CALL(mkdir, is_ours_at(AT_FDCWD, path), -1, path, mode);
}

int mkdirat(int dir, const char *path, mode_t mode)
{
	CALL(mkdirat, is_ours_at(dir, path), -1, dir, path, mode);
}

int unlinkat(int dir, const char *path, int flags)
{
	CALL(unlinkat, is_ours_at(dir, path), -1, dir, path, flags);
}

int symlinkat(const char *target, int dir, const char *path)
{
	CALL(symlinkat, is_ours_at(dir, path), -1, target, dir, path);
}

ssize_t getxattr(const char *path, const char *name, void *value, size_t size)
{
	CALL(getxattr, is_ours_at(AT_FDCWD, path), -1, path, name, value, size);
}

ssize_t listxattr(const char *path, char *names, size_t size)
{
	CALL(listxattr, is_ours_at(AT_FDCWD, path), -1, path, names, size);
}

int setxattr(const char *path, const char *name, const void *value, size_t size,
	     int flags)
{
	CALL(setxattr, is_ours_at(AT_FDCWD, path), -1, path, name, value, size,
	     flags);
}

int removexattr(const char *path, const char *name)
{
	CALL(removexattr, is_ours_at(AT_FDCWD, path), -1, path, name);
}

ssize_t readlinkat(int dir, const char *path, char *text, size_t size)
{
	CALL(readlinkat, is_ours_at(dir, path), -1, dir, path, text, size);
}

int linkat(int from_dir, const char *from, int dir, const char *path, int flags)
{
	CALL(linkat, is_ours_at(dir, path), -1, from_dir, from, dir, path,
	     flags);
}

int renameat(int from_dir, const char *from, int dir, const char *path)
{
	CALL(renameat, is_ours_at(dir, path), -1, from_dir, from, dir, path);
}

int renameat2(int from_dir, const char *from, int dir, const char *path,
	      unsigned flags)
{
	CALL(renameat2, is_ours_at(dir, path), -1, from_dir, from, dir, path,
	     flags);
}
