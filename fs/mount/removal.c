/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs/mount/dir.h"
#include "fs/store/trash.h"

static int hide(struct mount *m, struct node *directory, const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	if (dir.fd < 0)
		return dir.fd;
	if (hides_has(m, directory, name))
		return -ENOENT;
	if (faccessat(dir.fd, name, F_OK, AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return hides_add(m, directory, name);
}

int removal_of_file(struct mount *m, struct node *directory, const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	if (m->hides.used)
		return hide(m, directory, name);
	return dir.fd < 0 ? dir.fd : trash_delete(m->store, dir.fd, name);
}

int removal_of_directory(struct mount *m, struct node *directory,
			 const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	if (m->hides.used)
		return hide(m, directory, name);
	if (dir.fd < 0)
		return dir.fd;
	return unlinkat(dir.fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}

int removal_of_hidden(struct mount *m, struct node *directory, const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	int err = dir.fd < 0 ? dir.fd : trash_delete(m->store, dir.fd, name);

	if (err != -EISDIR)
		return err;
	return unlinkat(dir.fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
