/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/manifest_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "codec/manifest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

/* The file of somebody else may be closed to us; then it is not trusted. */
static int open_error(const struct store *store, int dir, const char *name,
		      int error)
{
	struct stat st;

	if (error == EACCES &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    !store_trusts(store, st.st_uid))
		return -EPERM;
	return -error;
}

static int check_file(const struct store *store, const struct stat *st)
{
	if (S_ISDIR(st->st_mode))
		return -EISDIR;
	if (!S_ISREG(st->st_mode))
		return -ENXIO;
	if (!store_trusts(store, st->st_uid))
		return -EPERM;
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
	if (fstat(fd, st) < 0)
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
	int err = read_once(store, dir, name, bytes, st);

	if (err == -EMFILE || err == -ENFILE)
		pack_pool_shrink(&store->pool);
	else if (err != -ESTALE)
		return err;
	return read_once(store, dir, name, bytes, st);
}
