/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/place.h"

#include <errno.h>
#include <stdio.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

int place_of(const struct store *store, int dir, char place[PATH_MAX])
{
	char root[PATH_MAX], path[PATH_MAX];
	size_t size;
	int err = fd_path(store->root, root);

	if (!err)
		err = fd_path(dir, path);
	if (err)
		return err;
	size = strlen(root);
	if (strncmp(path, root, size) != 0 || path[size] != '/')
		return -EXDEV;
	snprintf(place, PATH_MAX, "%s", path + size + 1);
	return 0;
}

int place_open_parent(int base, const char *path, const char **name)
{
	int fd = dup(base);

	for (const char *end; fd >= 0 && (end = strchr(path, '/'));
	     path = end + 1) {
		AUTO_CLOSE int parent = fd;
		char part[NAME_MAX + 1];

		if ((size_t)(end - path) > NAME_MAX)
			return -ENAMETOOLONG;
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		fd = fd_open_list(parent, part);
		if (fd < 0)
			return fd;
	}
	*name = path;
	return fd < 0 ? -errno : fd;
}
