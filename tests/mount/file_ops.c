/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mount/file_ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/sendfile.h>
#include <sys/stat.h>
#include <sys/uio.h>
#include <unistd.h>

#include "tests/mount/file_maps.h"

enum { PIPE_SAFE = 32768 };

static bool readable(const struct handle *h)
{
	return (h->flags & O_ACCMODE) != O_WRONLY;
}

static bool writable(const struct handle *h)
{
	return (h->flags & O_ACCMODE) != O_RDONLY;
}

static size_t number(const struct world *w, const struct handle *h)
{
	return (size_t)(h - w->handle);
}

/* A descriptor that is open for this; NULL when what was picked is not. */
static struct handle *pick_handle(struct world *w,
				  bool (*fits)(const struct handle *))
{
	size_t first = world_pick(w, WORLD_HANDLES);

	for (size_t i = 0; i < WORLD_HANDLES; i++) {
		struct handle *h = &w->handle[(first + i) % WORLD_HANDLES];

		if (h->fd >= 0 && fits(h))
			return h;
	}
	return NULL;
}

static off_t real(const struct handle *h, size_t at)
{
	return h->file->base + (off_t)at;
}

/* O_DIRECT wants pages, also of ext4. */
static void align(const struct handle *h, size_t *at, size_t *size)
{
	if (h->flags & O_DIRECT) {
		*at = *at / WORLD_PAGE * WORLD_PAGE;
		*size = (*size + WORLD_PAGE - 1) / WORLD_PAGE * WORLD_PAGE;
	}
}

/* No more than the file may have; a region has nothing behind it to touch. */
static size_t fitting(const struct file *file, size_t at, size_t size)
{
	size_t limit = file->region ? file->size : WORLD_FILE_MAX;

	if (at >= limit)
		return 0;
	return size < limit - at ? size : limit - at;
}

/* How much a read gives. */
static size_t there(const struct file *file, size_t at, size_t size)
{
	if (at >= file->size)
		return 0;
	return size < file->size - at ? size : file->size - at;
}

/* Bytes that tell which operation wrote them, and where. */
static void make_bytes(struct world *w, size_t size)
{
	size_t salt = world_pick(w, 256);

	for (size_t i = 0; i < size; i++)
		w->buffer[i] = (uint8_t)(salt + i + i / 251 + (w->op << 3));
}

static void check_read(struct world *w, const struct handle *h, size_t at,
		       ssize_t got, size_t expected, const char *call)
{
	world_expect(w, got >= 0, call);
	if ((size_t)got != expected)
		world_fail(w, "%s: %s at %zu: expected %zu bytes, seen %zd",
			   h->file->path, call, at, expected, got);
	world_compare(w, h->file, at, w->buffer, expected, call);
}

static void op_read(struct world *w)
{
	struct handle *h = pick_handle(w, readable);
	size_t size = world_length(w);

	if (!h || h->flags & O_DIRECT)
		return;
	if (h->file->region)
		size = fitting(h->file, h->at, size);
	world_note(w, "read fd%zu %zu bytes at its offset %zu", number(w, h),
		   size, h->at);
	size_t expected = there(h->file, h->at, size);

	check_read(w, h, h->at, read(h->fd, w->buffer, size), expected, "read");
	h->at += expected;
	if (lseek(h->fd, 0, SEEK_CUR) != real(h, h->at))
		world_fail(w, "expected the offset behind what was read");
}

static void op_pread(struct world *w)
{
	struct handle *h = pick_handle(w, readable);

	if (!h)
		return;
	size_t at = world_offset(w, h->file);
	size_t size = world_length(w);

	align(h, &at, &size);
	size = h->file->region ? fitting(h->file, at, size) : size;
	size_t first = h->flags & O_DIRECT ? 0 : world_pick(w, size + 1);
	struct iovec parts[] = { { w->buffer, first },
				 { w->buffer + first, size - first } };

	world_note(w, "preadv fd%zu %zu bytes at %zu", number(w, h), size, at);
	check_read(w, h, at, preadv(h->fd, parts, 2, real(h, at)),
		   there(h->file, at, size), "preadv");
}

static void op_sendfile(struct world *w)
{
	struct handle *h = pick_handle(w, readable);
	int ends[2];

	if (!h || h->flags & O_DIRECT || pipe2(ends, O_CLOEXEC) < 0)
		return;
	size_t at = world_offset(w, h->file);
	size_t size = 1 + world_pick(w, PIPE_SAFE);

	size = there(h->file, at, size);
	off_t from = real(h, at);

	world_note(w, "sendfile fd%zu %zu bytes at %zu", number(w, h), size,
		   at);
	for (size_t done = 0; done < size;) {
		ssize_t sent = sendfile(ends[1], h->fd, &from, size - done);

		world_expect(w, sent > 0, "sendfile");
		if (read(ends[0], w->buffer, (size_t)sent) != sent)
			world_fail(w, "expected what was sent in the pipe");
		world_compare(w, h->file, at + done, w->buffer, (size_t)sent,
			      "sendfile");
		done += (size_t)sent;
	}
	close(ends[0]);
	close(ends[1]);
}

static void check_written(struct world *w, const struct handle *h, ssize_t done,
			  size_t size, const char *call)
{
	world_expect(w, done >= 0, call);
	if ((size_t)done != size)
		world_fail(w, "%s: %s: expected %zu bytes, seen %zd",
			   h->file->path, call, size, done);
}

static void op_write(struct world *w)
{
	struct handle *h = pick_handle(w, writable);

	if (!h || h->flags & O_DIRECT)
		return;
	size_t at = h->flags & O_APPEND ? h->file->size : h->at;
	size_t size = fitting(h->file, at, world_length(w));

	world_note(w, "write fd%zu %zu bytes at %zu%s", number(w, h), size, at,
		   h->flags & O_APPEND ? ", appending" : "");
	make_bytes(w, size);
	check_written(w, h, write(h->fd, w->buffer, size), size, "write");
	if (!size)
		return;
	world_put(h->file, at, w->buffer, size);
	h->at = at + size;
	if (lseek(h->fd, 0, SEEK_CUR) != real(h, h->at))
		world_fail(w, "expected the offset behind what was written");
}

static void op_pwrite(struct world *w)
{
	struct handle *h = pick_handle(w, writable);

	if (!h || (h->flags & O_DIRECT && h->flags & O_APPEND))
		return;
	size_t at =
		h->flags & O_APPEND ? h->file->size : world_offset(w, h->file);
	size_t size = world_length(w);

	align(h, &at, &size);
	size = fitting(h->file, at, size);
	if (h->flags & O_DIRECT)
		size = size / WORLD_PAGE * WORLD_PAGE;
	size_t first = h->flags & O_DIRECT ? 0 : world_pick(w, size + 1);
	struct iovec parts[] = { { w->buffer, first },
				 { w->buffer + first, size - first } };

	world_note(w, "pwritev fd%zu %zu bytes at %zu%s", number(w, h), size,
		   at, h->flags & O_APPEND ? ", appending" : "");
	make_bytes(w, size);
	check_written(w, h, pwritev(h->fd, parts, 2, real(h, at)), size,
		      "pwritev");
	if (size)
		world_put(h->file, at, w->buffer, size);
}

static void op_seek(struct world *w)
{
	struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];

	if (h->fd < 0)
		return;
	size_t at = world_offset(w, h->file);

	world_note(w, "lseek fd%zu to %zu", number(w, h), at);
	if (lseek(h->fd, real(h, at), SEEK_SET) != real(h, at))
		world_fail(w, "expected lseek to say %zu", at);
	h->at = at;
}

static bool zero(const struct file *file, size_t from, size_t to)
{
	while (from < to && file->data[from] == 0)
		from++;
	return from >= to;
}

static void check_data(const struct world *w, const struct handle *h, size_t at)
{
	const struct file *file = h->file;
	off_t data = lseek(h->fd, (off_t)at, SEEK_DATA);

	world_expect(w, data >= 0 || errno == ENXIO, "lseek SEEK_DATA");
	size_t to = data < 0 ? file->size : (size_t)data;

	if (to < at || to > file->size || !zero(file, at, to))
		world_fail(
			w,
			"%s: SEEK_DATA from %zu: seen %lld, with data before",
			file->path, at, (long long)data);
}

static void check_hole(const struct world *w, const struct handle *h, size_t at)
{
	const struct file *file = h->file;
	off_t hole = lseek(h->fd, (off_t)at, SEEK_HOLE);

	world_expect(w, hole >= 0, "lseek SEEK_HOLE");
	if (hole < (off_t)at || hole > (off_t)file->size)
		world_fail(w, "%s: SEEK_HOLE from %zu: seen %lld, in %zu bytes",
			   file->path, at, (long long)hole, file->size);
	if ((size_t)hole < file->size && file->data[hole])
		world_fail(w,
			   "%s: SEEK_HOLE from %zu: seen %lld, where data is",
			   file->path, at, (long long)hole);
}

static void op_sparse(struct world *w)
{
	struct handle *h = pick_handle(w, readable);

	/* FUSE is asked without being told of pages that mappings made dirty.
	 */
	if (!h || h->file->region || file_is_mapped(w, h->file))
		return;
	size_t at = world_offset(w, h->file);

	world_note(w, "SEEK_DATA and SEEK_HOLE fd%zu from %zu", number(w, h),
		   at);
	if (at < h->file->size) {
		check_data(w, h, at);
		check_hole(w, h, at);
	} else if (lseek(h->fd, (off_t)at, SEEK_DATA) >= 0 || errno != ENXIO ||
		   lseek(h->fd, (off_t)at, SEEK_HOLE) >= 0 || errno != ENXIO) {
		world_fail(w, "expected ENXIO behind the end");
	}
	world_expect(w, lseek(h->fd, real(h, h->at), SEEK_SET) >= 0, "lseek");
}

static size_t new_size(struct world *w, const struct file *file)
{
	size_t at = world_offset(w, file);

	return world_pick(w, 12) ? at : 0;
}

static void op_truncate(struct world *w)
{
	struct file *file = &w->file[world_pick(w, w->files)];
	size_t size = new_size(w, file);

	if (file->region)
		return;
	world_note(w, "truncate %s to %zu", file->path, size);
	world_expect(w, truncate(file->path, (off_t)size) == 0, "truncate");
	world_resize(file, size);
}

static void op_ftruncate(struct world *w)
{
	struct handle *h = pick_handle(w, writable);

	if (!h || h->file->region)
		return;
	size_t size = new_size(w, h->file);

	world_note(w, "ftruncate fd%zu to %zu", number(w, h), size);
	world_expect(w, ftruncate(h->fd, (off_t)size) == 0, "ftruncate");
	world_resize(h->file, size);
}

static void op_allocate(struct world *w)
{
	static const int modes[] = { 0, FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_PUNCH_HOLE | FALLOC_FL_KEEP_SIZE,
				     FALLOC_FL_ZERO_RANGE,
				     FALLOC_FL_ZERO_RANGE |
					     FALLOC_FL_KEEP_SIZE };
	struct handle *h = pick_handle(w, writable);

	if (!h)
		return;
	int mode = modes[world_pick(w, sizeof(modes) / sizeof(*modes))];
	size_t at = world_offset(w, h->file);
	size_t size = fitting(h->file, at, world_length(w));

	if (size == 0)
		return;
	world_note(w, "fallocate fd%zu mode %#x, %zu bytes at %zu",
		   number(w, h), (unsigned)mode, size, at);
	if (fallocate(h->fd, mode, real(h, at), (off_t)size) < 0) {
		world_expect(w, errno == EOPNOTSUPP, "fallocate");
		return;
	}
	size_t end = at + size;

	if (mode & FALLOC_FL_KEEP_SIZE)
		end = at + there(h->file, at, size);
	else if (end > h->file->size)
		world_resize(h->file, end);
	if (mode & ~FALLOC_FL_KEEP_SIZE && end > at)
		world_put(h->file, at, NULL, end - at);
}

static bool overlap(const struct handle *from, size_t at,
		    const struct handle *to, size_t target, size_t size)
{
	return from->file == to->file && at < target + size &&
	       target < at + size;
}

static void op_copy(struct world *w)
{
	struct handle *from = pick_handle(w, readable);
	struct handle *to = pick_handle(w, writable);

	if (!from || !to || (from->flags | to->flags) & (O_APPEND | O_DIRECT))
		return;
	size_t at = world_offset(w, from->file);
	size_t target = world_offset(w, to->file);
	size_t size = fitting(to->file, target, world_length(w));

	size = there(from->file, at, size);
	if (size == 0 || overlap(from, at, to, target, size))
		return;
	world_note(w, "copy_file_range fd%zu at %zu to fd%zu at %zu, %zu bytes",
		   number(w, from), at, number(w, to), target, size);
	off_t in = real(from, at);
	off_t out = real(to, target);
	ssize_t done = copy_file_range(from->fd, &in, to->fd, &out, size, 0);

	world_expect(w, done > 0, "copy_file_range");
	world_put(to->file, target, from->file->data + at, (size_t)done);
}

static int random_flags(struct world *w, const struct file *file)
{
	static const int ways[] = { O_RDONLY, O_RDWR, O_RDWR, O_WRONLY };
	int flags = ways[world_pick(w, 4)] | O_CLOEXEC;

	if (world_pick(w, 10) == 0)
		flags |= O_DSYNC;
	if (file->region)
		return flags;
	if (world_pick(w, 10) == 0)
		flags |= O_DIRECT;
	if ((flags & O_ACCMODE) == O_RDONLY)
		return flags;
	if (world_pick(w, 5) == 0)
		flags |= O_APPEND;
	if (world_pick(w, 8) == 0)
		flags |= O_TRUNC;
	return flags;
}

static void op_open(struct world *w)
{
	struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];
	struct file *file = &w->file[world_pick(w, w->files)];
	int flags = random_flags(w, file);

	if (h->fd >= 0)
		return;
	world_note(w, "open %s as fd%zu, flags %#o", file->path, number(w, h),
		   (unsigned)flags);
	int fd = open(file->path, flags);

	if (fd < 0 && errno == EINVAL && flags & O_DIRECT)
		return; /* as of tmpfs */
	world_expect(w, fd >= 0, "open");
	if (flags & O_TRUNC)
		world_resize(file, 0);
	*h = (struct handle){ .fd = fd, .flags = flags, .file = file };
	if (file->region)
		world_expect(w, lseek(fd, file->base, SEEK_SET) >= 0, "lseek");
}

static void close_handle(struct world *w, struct handle *h)
{
	world_note(w, "close fd%zu", number(w, h));
	world_expect(w, close(h->fd) == 0, "close");
	h->fd = -1;
}

static void op_close(struct world *w)
{
	struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];

	if (h->fd >= 0)
		close_handle(w, h);
}

static void op_sync(struct world *w)
{
	struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];
	bool data = world_pick(w, 2);

	if (h->fd < 0)
		return;
	world_note(w, "%s fd%zu", data ? "fdatasync" : "fsync", number(w, h));
	world_expect(w, (data ? fdatasync(h->fd) : fsync(h->fd)) == 0, "fsync");
}

/* So that what follows is read from the file system, not from the page cache.
 */
static void op_forget(struct world *w)
{
	struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];

	if (h->fd < 0)
		return;
	world_note(w, "forget the pages of fd%zu", number(w, h));
	posix_fadvise(h->fd, 0, 0, POSIX_FADV_DONTNEED);
}

static void op_look(struct world *w)
{
	struct file *file = &w->file[world_pick(w, w->files)];

	world_note(w, "compare %s", file->path);
	world_check_content(w, file);
}

static const struct {
	void (*run)(struct world *w);
	size_t weight;
} operations[] = {
	{ op_read, 10 },       { op_pread, 12 },	{ op_sendfile, 3 },
	{ op_write, 10 },      { op_pwrite, 12 },	{ op_seek, 5 },
	{ op_sparse, 4 },      { op_truncate, 4 },	{ op_ftruncate, 5 },
	{ op_allocate, 4 },    { op_copy, 5 },		{ op_open, 12 },
	{ op_close, 5 },       { op_sync, 4 },		{ op_forget, 4 },
	{ op_look, 8 },	       { file_map, 4 },		{ file_map_read, 6 },
	{ file_map_write, 8 }, { file_map_private, 2 }, { file_unmap, 2 },
};

void file_op(struct world *w)
{
	const size_t count = sizeof(operations) / sizeof(*operations);
	size_t sum = 0;
	size_t i = 0;

	for (size_t j = 0; j < count; j++)
		sum += operations[j].weight;
	for (size_t at = world_pick(w, sum); at >= operations[i].weight; i++)
		at -= operations[i].weight;
	world_note(w, "(nothing to do)");
	operations[i].run(w);
	world_check_sizes(w);
	w->op++;
}

void file_ops_end(struct world *w)
{
	bool maps_first = world_pick(w, 2);

	if (maps_first)
		file_unmap_all(w);
	for (size_t i = 0; i < WORLD_HANDLES; i++)
		if (w->handle[i].fd >= 0)
			close_handle(w, &w->handle[i]);
	if (!maps_first)
		file_unmap_all(w);
}
