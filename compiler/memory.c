/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/memory.h"

#include <errno.h>
#include <stdalign.h>
#include <stdbool.h>

/* An arena rounds up what is asked of it. */
static bool is_beyond(const struct arena *arena, size_t count, size_t size)
{
	size_t total;

	return __builtin_mul_overflow(count, size, &total) ||
	       __builtin_add_overflow(total, alignof(max_align_t), &total) ||
	       total > arena->limit - arena->used;
}

void *memory_take(struct arena *arena, size_t count, size_t size, int *err)
{
	void *memory = arena_array(arena, count, size);

	if (!memory)
		*err = is_beyond(arena, count, size) ? -E2BIG : -ENOMEM;
	return memory;
}

const char *memory_why(int err)
{
	return err == -E2BIG ? "it needs more memory than allowed"
			     : "out of memory";
}
