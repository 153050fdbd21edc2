/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_FD_H
#define TACFS_FS_FD_H

/*
 * Files by descriptor: the one place that loops over short reads and writes and
 * over EINTR, which network file systems may answer. All return 0 or a negative
 * errno unless they say otherwise.
 */

#include <dirent.h>
#include <limits.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/stat.h>
#include <sys/types.h>
#include <time.h>

enum { FD_DRAFT_NAME_SIZE = 40, FD_CLAIM_MODE = 0400 };

/* openat(), always with O_CLOEXEC. -1 and errno, never EINTR, when it fails. */
int fd_open(int dir, const char *name, int flags, mode_t mode);

/* As fstat(), and as lstat() of a name in `dir`: -1 and errno, never EINTR. */
int fd_stat(int fd, struct stat *st);
int fd_stat_at(int dir, const char *name, struct stat *st);

/* Which directory it is, also after its inode number was used again. */
struct fd_identity {
	dev_t device;
	ino_t inode;
	struct timespec birth; /* 0 where the file system has no such thing */
};

int fd_identify(int fd, struct fd_identity *identity);
bool fd_is_same(const struct fd_identity *a, const struct fd_identity *b);

/* fsync(). */
int fd_sync(int fd);

/* Exactly `size` bytes from `offset`; -ENODATA when the file ends before. */
int fd_read_at(int fd, void *bytes, size_t size, uint64_t offset);
int fd_write_at(int fd, const void *bytes, size_t size, uint64_t offset);

/*
 * A new empty file in the directory `dir` that has no name (O_TMPFILE), or,
 * where the file system has no such thing, one whose name was removed again.
 * Readable and writable, mode 0600. Returns the descriptor or a negative errno.
 */
int fd_temp(int dir);

/*
 * Opens the directory `dir`, which makes a network file system ask for the
 * names in it again, also for those that it knows as missing.
 */
void fd_ask_names(int dir);

/* Where in /proc what a descriptor has open can be named once more. */
enum { FD_LINK_SIZE = 32 };
void fd_link(int fd, char link[FD_LINK_SIZE]);
/*
 * The path of what a descriptor has open, as the system tells it. 0;
 * -ENAMETOOLONG or another errno, negative, and then it is empty.
 */
int fd_path(int fd, char path[PATH_MAX]);

/*
 * Opens a directory to be gone through, without that counting as its use where
 * this may be said. Links are not followed. When it is missing its parent is
 * asked again. The descriptor or a negative errno.
 */
int fd_open_list(int dir, const char *name);

/* The same as a stream, which the caller closes. NULL and errno. */
DIR *fd_list(int dir, const char *name);
/* The next entry, but not "." and ".."; NULL and errno, which is 0 at the end.
 */
struct dirent *fd_list_next(DIR *stream);

/*
 * A file being built in `tmp`, to appear whole under its name or not at all:
 * nameless where O_TMPFILE works, else under a random name.
 */
struct fd_draft {
	int fd;
	int tmp;		       /* borrowed: the directory */
	char name[FD_DRAFT_NAME_SIZE]; /* in tmp; empty when nameless */
};

/* Bits of `mode` for group and others are given whatever the umask says. */
int fd_draft_open(int tmp, mode_t mode, struct fd_draft *draft);
/* Gives it its name: -EEXIST when that is taken. */
int fd_draft_link(struct fd_draft *draft, int dir, const char *name);
/* Gives it a random name in its tmp, unless it has one. */
int fd_draft_name(struct fd_draft *draft);
/* Gives it its name, in place of what had it. */
int fd_draft_replace(struct fd_draft *draft, int dir, const char *name);
/* Closes it; what was neither linked nor replaced is gone. */
void fd_draft_close(struct fd_draft *draft);
/*
 * Gives what has the name `from` the name `to`, which must be free: -EEXIST
 * when it is not, whoever gives it at the same time. 0 also when somebody takes
 * the name `from` away meanwhile. Where there are neither links nor renames
 * that replace nothing, `to` is a claim for an instant: an empty directory for
 * a directory, else an empty file of mode FD_CLAIM_MODE.
 */
int fd_move_new(int from_dir, const char *from, int to_dir, const char *to);
bool fd_is_claim(const struct stat *st);

/* A random name that a draft may have. */
int fd_draft_new_name(char name[FD_DRAFT_NAME_SIZE]);
/* Whether a draft may have this name in its tmp. */
bool fd_draft_name_is(const char *name);

#endif
