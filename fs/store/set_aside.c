/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/set_aside.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/store/durable.h"
#include "fs/store/fresh.h"
#include "fs/store/pack_file.h"
#include "fs/store/state.h"

void set_aside_path(const struct digest *id, char path[SET_ASIDE_PATH_SIZE])
{
	char text[DIGEST_TEXT_SIZE];

	digest_text(id, text);
	snprintf(path, SET_ASIDE_PATH_SIZE, "packs/%s", text);
}

int set_aside_pack(struct store *store, const struct digest *id)
{
	char from[PACK_PATH_SIZE], to[SET_ASIDE_PATH_SIZE];
	int err;

	pack_path(id, from);
	set_aside_path(id, to);
	if (renameat(store->packs, from, store->trash, to) == 0)
		return 0;
	if (errno != ENOENT ||
	    faccessat(store->packs, from, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	err = store_make_dir(store, store->trash, "packs");
	if (!err)
		err = durable_name(store, store->trash);
	if (err)
		return err;
	return renameat(store->packs, from, store->trash, to) < 0 ? -errno : 0;
}

/* There are as many fan directories as packs have had, and they stay. */
int bring_back_pack(struct store *store, const struct digest *id)
{
	char from[SET_ASIDE_PATH_SIZE], to[PACK_PATH_SIZE];

	set_aside_path(id, from);
	pack_path(id, to);
	if (renameat(store->trash, from, store->packs, to) == 0)
		return 0;
	if (errno != ENOENT || !store->keeps_names)
		return -errno;
	fresh_pack(store, id);
	return renameat(store->trash, from, store->packs, to) < 0 ? -errno : 0;
}
