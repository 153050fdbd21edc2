/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <time.h>

#include "codec/manifest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/fresh.h"
#include "fs/store/state.h"

/* A name that is being taken (fd_move_new()) takes no longer, or its taker
 * died. */
enum { LOOKS = 8, CLAIM_LOOKS = 50, CLAIM_NSEC = 1000000 };

/* What is somebody else's may be closed to us, or no file at all. */
static int open_error(const struct store *store, int dir, const char *name,
		      int error)
{
	struct stat st;

	if ((error == EACCES || error == ELOOP || error == ENXIO) &&
	    fd_stat_at(dir, name, &st) == 0 && !store_vouches(store, &st))
		return -EPERM;
	return -error;
}

static int check_file(const struct store *store, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!store_vouches(store, st))
		return -EPERM;
	if (!S_ISREG(st->st_mode))
		return -ENXIO;
	if (fd_is_claim(st))
		return -EAGAIN;
	return st->st_size > MANIFEST_MAX ? -EFBIG : 0;
}

static int read_once(const struct store *store, int dir, const char *name,
		     void **bytes, struct stat *st)
{
	AUTO_CLOSE int fd = -1;
	AUTO_FREE void *read = NULL;
	int err;

	fd = fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		     0);
	if (fd < 0)
		return open_error(store, dir, name, errno);
	if (fd_stat(fd, st) < 0)
		return -errno;
	err = check_file(store, st);
	if (err)
		return err;
	read = malloc((size_t)st->st_size + 1);
	if (!read)
		return -ENOMEM;
	err = fd_read_at(fd, read, (size_t)st->st_size, 0);
	if (err)
		return err;
	*bytes = take_memory(&read);
	return 0;
}

int manifest_file_read(struct store *store, int dir, const char *name,
		       void **bytes, struct stat *st)
{
	const struct timespec pause = { .tv_nsec = CLAIM_NSEC };
	int err = read_once(store, dir, name, bytes, st);

	if (err == -EMFILE || err == -ENFILE) {
		pack_pool_shrink(&store->pool);
		err = read_once(store, dir, name, bytes, st);
	}
	for (int i = 0; err == -EAGAIN && i < CLAIM_LOOKS; i++) {
		nanosleep(&pause, NULL);
		err = read_once(store, dir, name, bytes, st);
	}
	if (err == -EAGAIN)
		return clock_claim_stands(store, st) ? -ENOENT : -ENODATA;
	/* Another host has replaced it, or its directory, just now. */
	for (int i = 0; err == -ESTALE && i < LOOKS; i++) {
		fresh_names(store, dir);
		err = read_once(store, dir, name, bytes, st);
	}
	return err == -ESTALE ? -ENOENT : err;
}
