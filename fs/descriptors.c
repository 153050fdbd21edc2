/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/descriptors.h"

#include <sys/resource.h>

enum { PARTS = 32, LEAST = 4, USUAL = 256 };

/* How many of the parts, and how many descriptors are enough. */
static const struct share {
	size_t parts;
	size_t most;
} shares[] = {
	[DESCRIPTORS_PACKS] = { 4, 256 },
	[DESCRIPTORS_HELD] = { 12, 1 << 20 },
	[DESCRIPTORS_DIRECTORIES] = { 4, 16384 },
	[DESCRIPTORS_LOCKS] = { 2, 4096 },
	[DESCRIPTORS_WORK] = { 4, 4096 },
};

size_t descriptors_for(enum descriptors use)
{
	const struct share *share = &shares[use];
	struct rlimit limit = { .rlim_cur = USUAL };
	size_t count;

	getrlimit(RLIMIT_NOFILE, &limit);
	if (limit.rlim_cur == RLIM_INFINITY)
		return share->most;
	count = (size_t)limit.rlim_cur / PARTS * share->parts;
	if (count > share->most)
		count = share->most;
	return count < LEAST ? LEAST : count;
}
