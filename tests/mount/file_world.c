/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mount/file_world.h"

#include <errno.h>
#include <fcntl.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

static _Noreturn void give_up(const char *what)
{
	fprintf(stderr, "%s: %s\n", what, strerror(errno));
	exit(2);
}

void world_init(struct world *w, uint64_t seed)
{
	*w = (struct world){ .seed = seed, .state = seed };
	w->buffer = aligned_alloc(
		WORLD_PAGE, (WORLD_FILE_MAX / WORLD_PAGE + 1) * WORLD_PAGE);
	if (!w->buffer)
		give_up("buffer");
	for (size_t i = 0; i < WORLD_HANDLES; i++)
		w->handle[i].fd = -1;
}

void world_free(struct world *w)
{
	for (size_t i = 0; i < w->files; i++) {
		free(w->file[i].path);
		free(w->file[i].data);
	}
	free(w->buffer);
}

static struct file *new_file(struct world *w, const char *path)
{
	struct file *file = &w->file[w->files++];

	file->path = strdup(path);
	file->data = calloc(1, WORLD_FILE_MAX);
	if (!file->path || !file->data)
		give_up("memory");
	return file;
}

static size_t load(const char *model, uint8_t *data)
{
	int fd = open(model, O_RDONLY | O_CLOEXEC);
	ssize_t size = fd < 0 ? -1 : read(fd, data, WORLD_FILE_MAX);

	if (size < 0)
		give_up(model);
	close(fd);
	return (size_t)size;
}

void world_add(struct world *w, const char *path, const char *model)
{
	struct file *file = new_file(w, path);

	if (access(model, F_OK) == 0) {
		file->size = load(model, file->data);
		return;
	}
	int fd = open(path, O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0644);

	world_expect(w, fd >= 0, "creating a file");
	world_expect(w, close(fd) == 0, "close");
}

void world_add_region(struct world *w, const char *path, size_t number)
{
	struct file *file = new_file(w, path);

	file->region = true;
	file->size = WORLD_REGION;
	file->base = (off_t)number * WORLD_REGION;
}

void world_save(const struct world *w, const struct file *file,
		const char *model)
{
	int fd = open(model, O_WRONLY | O_CREAT | O_TRUNC | O_CLOEXEC, 0644);

	(void)w;
	if (fd < 0 ||
	    write(fd, file->data, file->size) != (ssize_t)file->size ||
	    close(fd) < 0)
		give_up(model);
}

/* splitmix64 */
size_t world_pick(struct world *w, size_t below)
{
	uint64_t z = w->state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return (size_t)((z ^ (z >> 31)) % below);
}

size_t world_offset(struct world *w, const struct file *file)
{
	size_t end = file->size;
	size_t at = world_pick(w, end + end / 8 + 1);

	switch (world_pick(w, 6)) {
	case 0:
		at = end;
		break;
	case 1:
		at = at / WORLD_PAGE * WORLD_PAGE;
		break;
	case 2:
		at = at / WORLD_PAGE * WORLD_PAGE + WORLD_PAGE - 1;
		break;
	case 3:
		at = end > 100 ? end - 1 - world_pick(w, 100) : 0;
		break;
	default:
		break;
	}
	if (file->region && at > end)
		at = end;
	return at < WORLD_FILE_MAX ? at : WORLD_FILE_MAX - 1;
}

size_t world_length(struct world *w)
{
	static const size_t limits[] = { 16,   200,   WORLD_PAGE, 9000,
					 9000, 20000, 70000,	  200000 };

	return 1 +
	       world_pick(
		       w,
		       limits[world_pick(w, sizeof(limits) / sizeof(*limits))]);
}

void world_note(struct world *w, const char *format, ...)
{
	char *line = w->log[w->op % WORLD_LOG];
	va_list list;

	va_start(list, format);
	vsnprintf(line, WORLD_LINE, format, list);
	va_end(list);
}

void world_fail(const struct world *w, const char *format, ...)
{
	unsigned long first = w->op < WORLD_LOG ? 0 : w->op - WORLD_LOG + 1;
	va_list list;

	fprintf(stderr,
		"seed %llu, operation %lu: ", (unsigned long long)w->seed,
		w->op);
	va_start(list, format);
	vfprintf(stderr, format, list);
	va_end(list);
	fputc('\n', stderr);
	for (unsigned long op = first; op <= w->op; op++)
		fprintf(stderr, "  %lu: %s\n", op, w->log[op % WORLD_LOG]);
	exit(1);
}

void world_expect(const struct world *w, bool success, const char *call)
{
	int err = errno;

	if (!success)
		world_fail(w, "expected %s to succeed, seen %s", call,
			   strerrorname_np(err));
}

void world_put(struct file *file, size_t at, const void *bytes, size_t size)
{
	if (at + size > file->size)
		file->size = at + size;
	if (bytes)
		memcpy(file->data + at, bytes, size);
	else
		memset(file->data + at, 0, size);
}

void world_resize(struct file *file, size_t size)
{
	if (size < file->size)
		memset(file->data + size, 0, file->size - size);
	file->size = size;
}

void world_compare(const struct world *w, const struct file *file, size_t at,
		   const uint8_t *bytes, size_t size, const char *by)
{
	size_t i = 0;
	size_t wrong = 0;

	if (memcmp(bytes, file->data + at, size) == 0)
		return;
	while (bytes[i] == file->data[at + i])
		i++;
	for (size_t j = i; j < size; j++)
		wrong += bytes[j] != file->data[at + j];
	world_fail(w,
		   "%s: %s at %zu: expected byte %02x, seen %02x (%zu of %zu "
		   "wrong)",
		   file->path, by, at + i, file->data[at + i], bytes[i], wrong,
		   size);
}

void world_mapped(const struct map *map, size_t *from, size_t *to)
{
	const struct file *file = map->file;
	off_t start = map->offset - file->base;
	off_t end = start + (off_t)map->length;

	*from = start > 0 ? (size_t)start : 0;
	*to = end < (off_t)file->size ? (size_t)end : file->size;
	if (*to < *from)
		*to = *from;
}

static void check_size(const struct world *w, const struct file *file,
		       const struct stat *st, const char *by)
{
	off_t size = file->base + (off_t)file->size;

	if (file->region ? st->st_size < size : st->st_size != size)
		world_fail(w, "%s: %s: expected size %lld, seen %lld",
			   file->path, by, (long long)size,
			   (long long)st->st_size);
}

void world_check_sizes(const struct world *w)
{
	struct stat st;

	for (size_t i = 0; i < w->files; i++) {
		world_expect(w, stat(w->file[i].path, &st) == 0, "stat");
		check_size(w, &w->file[i], &st, "stat");
	}
	for (size_t i = 0; i < WORLD_HANDLES; i++) {
		const struct handle *h = &w->handle[i];

		if (h->fd < 0)
			continue;
		world_expect(w, fstat(h->fd, &st) == 0, "fstat");
		check_size(w, h->file, &st, "fstat");
	}
}

void world_check_content(struct world *w, const struct file *file)
{
	int fd = open(file->path, O_RDONLY | O_CLOEXEC);
	size_t at = 0;
	ssize_t got;

	world_expect(w, fd >= 0, "open for reading");
	while (at < file->size) {
		size_t size = world_length(w);

		if (size > file->size - at)
			size = file->size - at;
		got = pread(fd, w->buffer, size, file->base + (off_t)at);
		world_expect(w, got >= 0, "pread");
		if (got == 0)
			world_fail(
				w,
				"%s: expected %zu bytes, seen the end at %zu",
				file->path, file->size, at);
		world_compare(w, file, at, w->buffer, (size_t)got,
			      "an own open");
		at += (size_t)got;
	}
	if (!file->region && pread(fd, w->buffer, 1, (off_t)at) != 0)
		world_fail(w, "%s: expected the end at %zu, seen more",
			   file->path, at);
	world_expect(w, close(fd) == 0, "close");
}
