/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/arena.h"

#include <stdalign.h>
#include <stdint.h>
#include <stdlib.h>

enum { ALIGNMENT = alignof(max_align_t), SLAB_SIZE = 64 * 1024 };

struct arena_slab {
	struct arena_slab *next;
	size_t used;
	size_t size;
	alignas(max_align_t) unsigned char bytes[];
};

struct arena arena_upto(size_t limit)
{
	return (struct arena){ .limit = limit };
}

void arena_free(struct arena *a)
{
	struct arena_slab *slab = a->slabs;

	while (slab) {
		struct arena_slab *next = slab->next;

		free(slab);
		slab = next;
	}
	*a = arena_upto(a->limit);
}

/* A large request gets a slab of its own, behind the one still in use. */
static struct arena_slab *new_slab(struct arena *a, size_t size)
{
	size_t room = size > SLAB_SIZE / 4 ? size : SLAB_SIZE;
	struct arena_slab *slab;

	if (room > a->limit - a->used)
		room = size;
	if (room > a->limit - a->used || room > SIZE_MAX - sizeof(*slab))
		return NULL;
	slab = calloc(1, sizeof(*slab) + room);
	if (!slab)
		return NULL;
	slab->size = room;
	a->used += room;
	if (a->slabs && room == size) {
		slab->next = a->slabs->next;
		a->slabs->next = slab;
	} else {
		slab->next = a->slabs;
		a->slabs = slab;
	}
	return slab;
}

void *arena_alloc(struct arena *a, size_t size)
{
	struct arena_slab *slab = a->slabs;
	size_t need;
	void *at;

	if (__builtin_add_overflow(size, ALIGNMENT - 1, &need))
		return NULL;
	need = need / ALIGNMENT * ALIGNMENT;
	if (!need)
		need = ALIGNMENT;
	if (!slab || need > slab->size - slab->used)
		slab = new_slab(a, need);
	if (!slab)
		return NULL;
	at = slab->bytes + slab->used;
	slab->used += need;
	return at;
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(a, total);
}
