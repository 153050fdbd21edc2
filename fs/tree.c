/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/tree.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"

enum { DEPTH_MAX = 8 };

static int remove_entry(int dir, const char *name, int depth);

static int remove_below(int dir, const char *name, int depth)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(dir, name);
	struct dirent *entry;
	int result = 0;

	if (!stream)
		return -errno;
	while ((entry = fd_list_next(stream))) {
		int err = remove_entry(dirfd(stream), entry->d_name, depth + 1);

		result = result ? result : err;
	}
	return result ? result : -errno;
}

static int remove_entry(int dir, const char *name, int depth)
{
	int err;

	if (unlinkat(dir, name, 0) == 0 || errno == ENOENT)
		return 0;
	if (errno != EISDIR && errno != EPERM)
		return -errno;
	if (depth == DEPTH_MAX)
		return -ELOOP;
	err = remove_below(dir, name, depth);
	if (err)
		return err;
	return unlinkat(dir, name, AT_REMOVEDIR) < 0 && errno != ENOENT ? -errno
									: 0;
}

int tree_remove(int dir, const char *name)
{
	return remove_entry(dir, name, 0);
}
