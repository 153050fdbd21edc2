/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/arena.h"

#include <stdalign.h>
#include <stdbool.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

/* Slabs grow, since many an arena holds little; what is large has its own. */
enum {
	ALIGNMENT = alignof(max_align_t),
	SLAB_LEAST = 1024, /* what most manifests need */
	SLAB_MOST = 64 * 1024,
	LARGE = SLAB_MOST / 4
};

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

void arena_reuse(struct arena *a)
{
	struct arena_slab *kept = a->slabs;

	if (!kept || kept->size > SLAB_MOST) {
		arena_free(a);
		return;
	}
	a->slabs = kept->next;
	arena_free(a);
	kept->next = NULL;
	kept->used = 0;
	a->slabs = kept;
	a->used = kept->size;
}

static struct arena_slab *add_slab(struct arena *a, size_t room, bool zeroed)
{
	struct arena_slab *slab;

	if (room > a->limit - a->used || room > SIZE_MAX - sizeof(*slab))
		return NULL;
	slab = zeroed ? calloc(1, sizeof(*slab) + room)
		      : malloc(sizeof(*slab) + room);
	if (!slab)
		return NULL;
	slab->size = room;
	slab->used = 0;
	a->used += room;
	return slab;
}

/* Behind the one still in use. The system's memory is zero already. */
static void *alloc_large(struct arena *a, size_t size)
{
	struct arena_slab *slab = add_slab(a, size, true);

	if (!slab)
		return NULL;
	slab->used = size;
	if (a->slabs) {
		slab->next = a->slabs->next;
		a->slabs->next = slab;
	} else {
		slab->next = NULL;
		a->slabs = slab;
	}
	return slab->bytes;
}

/* Of twice the size of the last; of what is asked, where the limit is near. */
static struct arena_slab *new_slab(struct arena *a, size_t size)
{
	size_t room = a->slabs ? a->slabs->size * 2 : SLAB_LEAST;
	struct arena_slab *slab;

	if (room > SLAB_MOST)
		room = SLAB_MOST;
	if (room < size || room > a->limit - a->used)
		room = size;
	slab = add_slab(a, room, false);
	if (!slab)
		return NULL;
	slab->next = a->slabs;
	a->slabs = slab;
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
	if (!slab || need > slab->size - slab->used) {
		if (need > LARGE)
			return alloc_large(a, need);
		slab = new_slab(a, need);
	}
	if (!slab)
		return NULL;
	at = slab->bytes + slab->used;
	slab->used += need;
	return memset(at, 0, need);
}

void *arena_array(struct arena *a, size_t count, size_t size)
{
	size_t total;

	if (__builtin_mul_overflow(count, size, &total))
		return NULL;
	return arena_alloc(a, total);
}
