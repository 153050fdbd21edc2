/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/ids.h"

#include <stdio.h>

static const char user_map[] = "/proc/self/uid_map";
static const char group_map[] = "/proc/self/gid_map";

struct range {
	unsigned long inside;
	unsigned long outside;
	unsigned long count;
};

static bool read_range(FILE *map, struct range *range)
{
	return fscanf(map, "%lu %lu %lu", &range->inside, &range->outside,
		      &range->count) == 3;
}

bool ids_are_whole(void)
{
	FILE *map = fopen(user_map, "re");
	struct range range;
	bool whole;

	if (!map)
		return true;
	whole = !read_range(map, &range) ||
		(!range.inside && !range.outside && range.count >= UINT32_MAX);
	fclose(map);
	return whole;
}

static bool have(const char *path, uint32_t id)
{
	FILE *map = fopen(path, "re");
	struct range range;
	bool has = false;

	if (!map)
		return true;
	while (!has && read_range(map, &range))
		has = id >= range.inside && id - range.inside < range.count;
	fclose(map);
	return has;
}

bool ids_have_user(uint32_t id)
{
	return have(user_map, id);
}

bool ids_have_group(uint32_t id)
{
	return have(group_map, id);
}
