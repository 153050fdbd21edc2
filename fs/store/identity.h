/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_IDENTITY_H
#define TACFS_FS_STORE_IDENTITY_H

/*
 * What tells that a file is the one that was looked at before, and that nobody
 * touched it since: every change of content or of a name changes the ctime.
 *
 * A ctime is as fine as the clock that it is taken from (up to 10 ms, and that
 * of another host may run differently), so a change in the same tick as the
 * one before shows nothing. An identity is therefore *settled* only when it was
 * taken IDENTITY_SETTLE_SECONDS after the ctime in it, by the file system's
 * clock (clock.h): a change after that gets another ctime. What was found about
 * a file with an identity that is not settled must be found again.
 */

#include <stdbool.h>
#include <sys/stat.h>
#include <time.h>

enum { IDENTITY_SETTLE_SECONDS = 2 };

struct file_identity {
	dev_t dev;
	ino_t ino;
	off_t size;
	struct timespec ctime;
};

static inline struct file_identity identity_of(const struct stat *st)
{
	return (struct file_identity){
		.dev = st->st_dev,
		.ino = st->st_ino,
		.size = st->st_size,
		.ctime = st->st_ctim,
	};
}

static inline bool identity_equal(const struct file_identity *a,
				  const struct file_identity *b)
{
	return a->ino == b->ino && a->dev == b->dev && a->size == b->size &&
	       a->ctime.tv_sec == b->ctime.tv_sec &&
	       a->ctime.tv_nsec == b->ctime.tv_nsec;
}

static inline bool identity_same_file(const struct file_identity *a,
				      const struct file_identity *b)
{
	return a->ino == b->ino && a->dev == b->dev;
}

#endif
