/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/fresh.h"

#include <fcntl.h>
#include <limits.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/vfs.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/store/pack_file.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"

/* ext, xfs, btrfs, zfs, f2fs, bcachefs, tmpfs, ramfs, overlay: statfs(2). */
static const uint32_t local[] = { 0xef53,     0x58465342, 0x9123683e,
				  0x2fc12fc1, 0xf2f52010, 0xca451a4e,
				  0x01021994, 0x858458f6, 0x794c7630 };

bool fresh_is_needed(int fd)
{
	struct statfs fs;

	if (fstatfs(fd, &fs) < 0)
		return true;
	for (size_t i = 0; i < sizeof(local) / sizeof(*local); i++)
		if (local[i] == (uint32_t)fs.f_type)
			return false;
	return true;
}

void fresh_names(const struct store *store, int dir)
{
	if (store->keeps_names)
		fd_ask_names(dir);
}

void fresh_path(const struct store *store, int dir, const char *path)
{
	char part[PATH_MAX];
	int fd;

	if (!store->keeps_names)
		return;
	snprintf(part, sizeof(part), "%s", path);
	fd_ask_names(dir);
	for (char *end = strchr(part, '/'); end; end = strchr(end + 1, '/')) {
		*end = '\0';
		fd = fd_open(dir, part, O_RDONLY | O_DIRECTORY, 0);
		if (fd >= 0)
			close(fd);
		*end = '/';
	}
}

void fresh_pack(const struct store *store, const struct digest *id)
{
	char path[PACK_PATH_SIZE], aside[SET_ASIDE_PATH_SIZE];

	pack_path(id, path);
	set_aside_path(id, aside);
	fresh_path(store, store->packs, path);
	fresh_path(store, store->trash, aside);
}
