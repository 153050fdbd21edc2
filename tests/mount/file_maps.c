/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/mount/file_maps.h"

#include <fcntl.h>
#include <string.h>
#include <sys/mman.h>

enum { PAGES = 12 };

static size_t number(const struct world *w, const struct map *map)
{
	return (size_t)(map - w->map);
}

static struct map *free_map(struct world *w)
{
	for (size_t i = 0; i < WORLD_MAPS; i++)
		if (!w->map[i].bytes)
			return &w->map[i];
	return NULL;
}

static struct map *used_map(struct world *w)
{
	struct map *map = &w->map[world_pick(w, WORLD_MAPS)];

	return map->bytes ? map : NULL;
}

/* The address of what is `at` from the file's base. */
static uint8_t *address(const struct map *map, size_t at)
{
	return map->bytes + (map->file->base + (off_t)at - map->offset);
}

/* A new mapping of some descriptor; bytes are NULL when it has none for
 * reading. */
static struct map make_map(struct world *w, bool shared)
{
	const struct handle *h = &w->handle[world_pick(w, WORLD_HANDLES)];
	struct map map = { .length = (1 + world_pick(w, PAGES)) * WORLD_PAGE };

	if (h->fd < 0 || (h->flags & O_ACCMODE) == O_WRONLY)
		return map;
	map.file = h->file;
	map.offset = (h->file->base + (off_t)world_offset(w, h->file)) /
		     WORLD_PAGE * WORLD_PAGE;
	map.writable = !shared || (h->flags & O_ACCMODE) == O_RDWR;
	void *bytes =
		mmap(NULL, map.length,
		     map.writable ? PROT_READ | PROT_WRITE : PROT_READ,
		     shared ? MAP_SHARED : MAP_PRIVATE, h->fd, map.offset);

	world_note(w, "map fd%zu %s, %zu pages at %lld",
		   (size_t)(h - w->handle), shared ? "shared" : "private",
		   map.length / WORLD_PAGE, (long long)map.offset);
	world_expect(w, bytes != MAP_FAILED, "mmap");
	map.bytes = bytes;
	return map;
}

/* Of the last page what is behind the end must be zero, too. */
static void compare(const struct world *w, const struct map *map,
		    const char *by)
{
	size_t from, to;

	world_mapped(map, &from, &to);
	if (to > from && to == map->file->size && !map->file->region)
		to = (to + WORLD_PAGE - 1) / WORLD_PAGE * WORLD_PAGE;
	if (to > WORLD_FILE_MAX)
		to = WORLD_FILE_MAX;
	if (to > from)
		world_compare(w, map->file, from, address(map, from), to - from,
			      by);
}

void file_map(struct world *w)
{
	struct map *map = free_map(w);

	if (map)
		*map = make_map(w, true);
}

void file_map_read(struct world *w)
{
	const struct map *map = used_map(w);

	if (!map)
		return;
	world_note(w, "read map%zu", number(w, map));
	compare(w, map, "a mapping");
}

static void sync_map(struct world *w, const struct map *map)
{
	size_t how = world_pick(w, 4);

	if (how < 2)
		world_expect(w,
			     msync(map->bytes, map->length,
				   how ? MS_SYNC : MS_ASYNC) == 0,
			     "msync");
}

void file_map_write(struct world *w)
{
	const struct map *map = used_map(w);
	size_t from, to;

	if (!map || !map->writable)
		return;
	world_mapped(map, &from, &to);
	if (from == to)
		return;
	size_t at = from + world_pick(w, to - from);
	size_t size = 1 + world_pick(w, to - at);
	int byte = 1 + (int)world_pick(w, 255);

	world_note(w, "write map%zu (of %s), %zu bytes at %zu", number(w, map),
		   map->file->path, size, at);
	memset(w->buffer, byte, size);
	memcpy(address(map, at), w->buffer, size);
	world_put(map->file, at, w->buffer, size);
	sync_map(w, map);
}

void file_map_private(struct world *w)
{
	struct map map = make_map(w, false);
	size_t from, to;

	if (!map.bytes)
		return;
	compare(w, &map, "a private mapping");
	world_mapped(&map, &from, &to);
	if (to > from)
		memset(address(&map, from), 0xee, to - from);
	world_expect(w, munmap(map.bytes, map.length) == 0, "munmap");
}

static void unmap(struct world *w, struct map *map)
{
	world_note(w, "unmap map%zu", number(w, map));
	world_expect(w, munmap(map->bytes, map->length) == 0, "munmap");
	map->bytes = NULL;
}

void file_unmap(struct world *w)
{
	struct map *map = used_map(w);

	if (map)
		unmap(w, map);
}

void file_unmap_all(struct world *w)
{
	for (size_t i = 0; i < WORLD_MAPS; i++)
		if (w->map[i].bytes)
			unmap(w, &w->map[i]);
}

bool file_is_mapped(const struct world *w, const struct file *file)
{
	for (size_t i = 0; i < WORLD_MAPS; i++)
		if (w->map[i].bytes && w->map[i].file == file)
			return true;
	return false;
}
