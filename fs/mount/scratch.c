/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <pthread.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/room.h"

enum { COPY_SIZE = 1024 * 1024 };

struct scratch {
	struct store *store;
	pthread_mutex_t lock; /* of making the file */
	_Atomic int fd;
	pthread_rwlock_t moving;
	bool in_memory; /* constant: it may move there */
	bool moved;	/* guarded by `moving` */
};

struct scratch *scratch_new(struct store *store, bool in_memory)
{
	struct scratch *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->store = store;
	c->fd = -1;
	c->in_memory = in_memory;
	pthread_mutex_init(&c->lock, NULL);
	pthread_rwlock_init(&c->moving, NULL);
	return c;
}

void scratch_free(struct scratch *c)
{
	if (!c)
		return;
	if (c->fd >= 0)
		close(c->fd);
	pthread_mutex_destroy(&c->lock);
	pthread_rwlock_destroy(&c->moving);
	free(c);
}

static int need_file(struct scratch *c)
{
	int err = 0;

	if (c->fd >= 0)
		return 0;
	pthread_mutex_lock(&c->lock);
	if (c->fd < 0) {
		int fd = fd_temp(store_tmp(c->store));

		if (fd < 0)
			err = fd;
		else
			c->fd = fd;
	}
	pthread_mutex_unlock(&c->lock);
	return err;
}

int scratch_size(const struct scratch *c, uint64_t *size)
{
	struct stat st = { .st_size = 0 };

	if (c->fd >= 0 && fd_stat(c->fd, &st) < 0)
		return -errno;
	*size = (uint64_t)st.st_size;
	return 0;
}

int scratch_stored(const struct scratch *c, uint64_t *bytes)
{
	struct stat st = { .st_blocks = 0 };

	if (c->fd >= 0 && fd_stat(c->fd, &st) < 0)
		return -errno;
	*bytes = (uint64_t)st.st_blocks * 512;
	return 0;
}

int scratch_fd(const struct scratch *c)
{
	return c->fd;
}

ssize_t scratch_read(const struct scratch *c, uint64_t offset, void *bytes,
		     size_t size)
{
	ssize_t count;

	if (c->fd < 0)
		return 0;
	do
		count = pread(c->fd, bytes, size, (off_t)offset);
	while (count < 0 && errno == EINTR);
	return count < 0 ? -errno : count;
}

static int write_here(struct scratch *c, uint64_t offset, const void *bytes,
		      size_t size)
{
	int err;

	pthread_rwlock_rdlock(&c->moving);
	err = need_file(c);
	if (!err)
		err = fd_write_at(c->fd, bytes, size, offset);
	pthread_rwlock_unlock(&c->moving);
	return err;
}

/* Readers go on: dup3() gives the descriptor another file in one step. */
static int copy_to_memory(struct scratch *c)
{
	AUTO_FREE void *piece = malloc(COPY_SIZE);
	AUTO_CLOSE int fd = memfd_create("scratch", MFD_CLOEXEC);
	uint64_t offset = 0;
	ssize_t count;
	int err = 0;

	if (fd < 0 || !piece)
		return fd < 0 ? -errno : -ENOMEM;
	while (!err &&
	       (count = scratch_read(c, offset, piece, COPY_SIZE)) > 0) {
		err = fd_write_at(fd, piece, (size_t)count, offset);
		offset += (uint64_t)count;
	}
	if (!err && count < 0)
		err = (int)count;
	if (!err && c->fd < 0)
		c->fd = take_fd(&fd);
	else if (!err && dup3(fd, c->fd, O_CLOEXEC) < 0)
		err = -errno;
	return err;
}

/* Once; what does not fit there either, fails. */
static int move_to_memory(struct scratch *c)
{
	int err = 0;

	pthread_rwlock_wrlock(&c->moving);
	if (!c->moved)
		err = copy_to_memory(c);
	if (!err)
		c->moved = true;
	pthread_rwlock_unlock(&c->moving);
	return err;
}

/* In memory only when even an eviction made no room. */
int scratch_write(struct scratch *c, uint64_t offset, const void *bytes,
		  size_t size)
{
	int err = write_here(c, offset, bytes, size);

	if (err && store_make_room(c->store, err, size) == 0)
		err = write_here(c, offset, bytes, size);
	if ((err != -ENOSPC && err != -EDQUOT) || !c->in_memory ||
	    move_to_memory(c) != 0)
		return err;
	return write_here(c, offset, bytes, size);
}

int scratch_resize(struct scratch *c, uint64_t size)
{
	int err;

	if (c->fd < 0 && size == 0)
		return 0;
	if (size > INT64_MAX)
		return -EFBIG;
	err = need_file(c);
	if (err)
		return err;
	while (ftruncate(c->fd, (off_t)size) < 0)
		if (errno != EINTR)
			return -errno;
	return 0;
}

static int allocate_here(struct scratch *c, int mode, uint64_t offset,
			 uint64_t size)
{
	int err = need_file(c);

	while (!err && fallocate(c->fd, mode, (off_t)offset, (off_t)size) < 0)
		if (errno != EINTR)
			err = -errno;
	return err;
}

int scratch_allocate(struct scratch *c, int mode, uint64_t offset,
		     uint64_t size)
{
	int err = allocate_here(c, mode, offset, size);

	if (err && store_make_room(c->store, err, size) == 0)
		err = allocate_here(c, mode, offset, size);
	return err;
}

int scratch_seek(const struct scratch *c, uint64_t offset, int whence,
		 uint64_t *at)
{
	off_t found;

	if (c->fd < 0)
		return -ENXIO;
	found = lseek(c->fd, (off_t)offset, whence);
	if (found < 0)
		return -errno;
	*at = (uint64_t)found;
	return 0;
}

int scratch_copy(struct store *store, bool in_memory, struct version *v,
		 struct scratch **out)
{
	AUTO_FREE void *piece = malloc(COPY_SIZE);
	struct scratch *c = scratch_new(store, in_memory);
	uint64_t offset = 0;
	ssize_t count = 0;
	int err = piece && c ? 0 : -ENOMEM;

	while (!err) {
		count = version_read(store, v, offset, piece, COPY_SIZE);
		if (count <= 0)
			break;
		err = scratch_write(c, offset, piece, (size_t)count);
		offset += (uint64_t)count;
	}
	if (!err && count < 0)
		err = (int)count;
	if (err) {
		scratch_free(c);
		return err;
	}
	*out = c;
	return 0;
}

static int map_all(const struct scratch *c, struct scratch_view *view)
{
	void *bytes;

	while (fallocate(c->fd, 0, 0, (off_t)view->size) < 0 &&
	       errno != EOPNOTSUPP)
		if (errno != EINTR)
			return -errno;
	bytes = mmap(NULL, view->size, PROT_READ, MAP_SHARED, c->fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	view->bytes = bytes;
	return 0;
}

static int read_all(const struct scratch *c, struct scratch_view *view)
{
	AUTO_FREE void *bytes = malloc(view->size);
	int err;

	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(c->fd, bytes, view->size, 0);
	if (!err)
		view->bytes = take_memory(&bytes);
	return err;
}

int scratch_map(const struct scratch *c, struct scratch_view *view)
{
	struct scratch_view all = { "", 0 };
	int err = scratch_size(c, &all.size);

	if (!err && all.size > SCRATCH_COPY_MAX)
		err = map_all(c, &all);
	else if (!err && all.size)
		err = read_all(c, &all);
	if (!err)
		*view = all;
	return err;
}

void scratch_unmap(struct scratch_view *view)
{
	union {
		const void *read;
		void *write;
	} bytes = { view->bytes };

	if (view->size > SCRATCH_COPY_MAX)
		munmap(bytes.write, view->size);
	else if (view->size)
		free(bytes.write);
	*view = (struct scratch_view){ NULL, 0 };
}
