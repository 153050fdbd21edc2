/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/gain.h"

#include <fcntl.h>
#include <sys/stat.h>

#include "codec/arena.h"
#include "codec/manifest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/manifest_file.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

enum { ARENA_SPARE = 4096 };

static void add_pack(struct store *store, struct gain *gain,
		     const struct digest *id)
{
	char path[PACK_PATH_SIZE];
	struct stat st;

	if (pack_set_marks(&gain->packs, id) ||
	    pack_set_mark(&gain->packs, id, PACK_IS_USED))
		return;
	pack_path(id, path);
	if (fd_stat_at(store->packs, path, &st) == 0)
		gain->bytes += (uint64_t)st.st_size;
}

void gain_add(struct store *store, struct gain *gain, int dir, const char *name)
{
	AUTO_FREE void *bytes = NULL;
	struct arena arena;
	struct manifest m;
	const char *why;
	struct stat st;

	if (manifest_file_read(store, dir, name, &bytes, &st))
		return;
	gain->bytes += (uint64_t)st.st_size;
	arena = arena_upto(4 * (size_t)st.st_size + ARENA_SPARE);
	if (manifest_parse(bytes, (size_t)st.st_size, &arena, &m, &why) == 0)
		for (size_t i = 0; i < m.pack_count; i++)
			add_pack(store, gain, &m.packs[i]);
	arena_free(&arena);
}

void gain_free(struct gain *gain)
{
	pack_set_free(&gain->packs);
}
