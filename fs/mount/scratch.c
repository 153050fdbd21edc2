/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/scratch.h"

#include <errno.h>
#include <fcntl.h>
#include <sys/mman.h>
#include <sys/stat.h>

#include "fs/descriptors.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/room.h"

enum { COPY_SIZE = 1024 * 1024 };

struct scratch {
	struct scratches *all;
	struct spill file;
	pthread_rwlock_t moving;
	bool moved; /* to memory; guarded by `moving` */
};

int scratches_init(struct scratches *all, struct store *store)
{
	*all = (struct scratches){ .store = store };
	return spills_init(&all->spills, store_tmp(store),
			   descriptors_for(DESCRIPTORS_WORK));
}

void scratches_free(struct scratches *all)
{
	spills_free(&all->spills);
}

struct scratch *scratch_new(struct scratches *all)
{
	struct scratch *c = calloc(1, sizeof(*c));

	if (!c)
		return NULL;
	c->all = all;
	spill_init(&c->file, &all->spills);
	pthread_rwlock_init(&c->moving, NULL);
	return c;
}

void scratch_free(struct scratch *c)
{
	if (!c)
		return;
	spill_free(&c->file);
	pthread_rwlock_destroy(&c->moving);
	free(c);
}

int scratch_begin(struct scratch *c)
{
	return spill_begin(&c->file);
}

void scratch_end(struct scratch *c)
{
	spill_end(&c->file);
}

/* All zero while there is no file. */
static int stat_file(struct scratch *c, struct stat *st)
{
	int fd = spill_begin(&c->file);
	int err = 0;

	*st = (struct stat){ .st_size = 0 };
	if (fd < 0)
		return fd == -ENODATA ? 0 : fd;
	if (fd_stat(fd, st) < 0)
		err = -errno;
	spill_end(&c->file);
	return err;
}

int scratch_measure(struct scratch *c, uint64_t *size, uint64_t *stored)
{
	struct stat st;
	int err = stat_file(c, &st);

	*size = (uint64_t)st.st_size;
	*stored = (uint64_t)st.st_blocks * 512;
	return err;
}

int scratch_size(struct scratch *c, uint64_t *size)
{
	uint64_t stored;

	return scratch_measure(c, size, &stored);
}

ssize_t scratch_read(struct scratch *c, uint64_t offset, void *bytes,
		     size_t size)
{
	int fd = spill_begin(&c->file);
	ssize_t count;

	if (fd < 0)
		return fd == -ENODATA ? 0 : fd;
	do
		count = pread(fd, bytes, size, (off_t)offset);
	while (count < 0 && errno == EINTR);
	count = count < 0 ? -errno : count;
	spill_end(&c->file);
	return count;
}

static int write_here(struct scratch *c, uint64_t offset, const void *bytes,
		      size_t size)
{
	int err;
	int fd;

	pthread_rwlock_rdlock(&c->moving);
	fd = spill_make(&c->file);
	err = fd < 0 ? fd : fd_write_at(fd, bytes, size, offset);
	if (fd >= 0)
		spill_end(&c->file);
	pthread_rwlock_unlock(&c->moving);
	return err;
}

/* Readers go on meanwhile. */
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
	if (!err)
		err = spill_replace(&c->file, fd);
	if (!err)
		take_fd(&fd);
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

	if (err && store_make_room(c->all->store, err, size) == 0)
		err = write_here(c, offset, bytes, size);
	if ((err != -ENOSPC && err != -EDQUOT) || !c->all->in_memory ||
	    move_to_memory(c) != 0)
		return err;
	return write_here(c, offset, bytes, size);
}

int scratch_resize(struct scratch *c, uint64_t size)
{
	int err = 0;
	int fd;

	if (size > INT64_MAX)
		return -EFBIG;
	fd = size ? spill_make(&c->file) : spill_begin(&c->file);
	if (fd < 0)
		return fd == -ENODATA ? 0 : fd;
	while (!err && ftruncate(fd, (off_t)size) < 0)
		if (errno != EINTR)
			err = -errno;
	spill_end(&c->file);
	return err;
}

static int allocate_here(struct scratch *c, int mode, uint64_t offset,
			 uint64_t size)
{
	int fd = spill_make(&c->file);
	int err = fd < 0 ? fd : 0;

	while (!err && fallocate(fd, mode, (off_t)offset, (off_t)size) < 0)
		if (errno != EINTR)
			err = -errno;
	if (fd >= 0)
		spill_end(&c->file);
	return err;
}

int scratch_allocate(struct scratch *c, int mode, uint64_t offset,
		     uint64_t size)
{
	int err = allocate_here(c, mode, offset, size);

	if (err && store_make_room(c->all->store, err, size) == 0)
		err = allocate_here(c, mode, offset, size);
	return err;
}

int scratch_seek(struct scratch *c, uint64_t offset, int whence, uint64_t *at)
{
	int fd = spill_begin(&c->file);
	off_t found;
	int err = 0;

	if (fd < 0)
		return fd == -ENODATA ? -ENXIO : fd;
	found = lseek(fd, (off_t)offset, whence);
	if (found < 0)
		err = -errno;
	spill_end(&c->file);
	*at = (uint64_t)found;
	return err;
}

int scratch_copy(struct scratches *all, struct version *v, struct scratch **out)
{
	AUTO_FREE void *piece = malloc(COPY_SIZE);
	struct scratch *c = scratch_new(all);
	uint64_t offset = 0;
	ssize_t count = 0;
	int err = piece && c ? 0 : -ENOMEM;

	while (!err) {
		count = version_read(all->store, v, offset, piece, COPY_SIZE);
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

static int map_all(int fd, struct scratch_view *view)
{
	void *bytes;

	while (fallocate(fd, 0, 0, (off_t)view->size) < 0 &&
	       errno != EOPNOTSUPP)
		if (errno != EINTR)
			return -errno;
	bytes = mmap(NULL, view->size, PROT_READ, MAP_SHARED, fd, 0);
	if (bytes == MAP_FAILED)
		return -errno;
	view->bytes = bytes;
	return 0;
}

static int read_all(int fd, struct scratch_view *view)
{
	AUTO_FREE void *bytes = malloc(view->size);
	int err;

	if (!bytes)
		return -ENOMEM;
	err = fd_read_at(fd, bytes, view->size, 0);
	if (!err)
		view->bytes = take_memory(&bytes);
	return err;
}

int scratch_map(struct scratch *c, struct scratch_view *view)
{
	struct scratch_view all = { "", 0 };
	int err = scratch_size(c, &all.size);
	int fd;

	if (!err && all.size) {
		fd = spill_begin(&c->file);
		err = fd < 0			    ? fd
		      : all.size > SCRATCH_COPY_MAX ? map_all(fd, &all)
						    : read_all(fd, &all);
		if (fd >= 0)
			spill_end(&c->file);
	}
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
