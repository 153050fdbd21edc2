/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

#include "fs/store/trash.h"

static int hide(struct mount *m, struct node *directory, const char *name)
{
	if (hides_has(m, directory, name))
		return -ENOENT;
	if (faccessat(directory->directory.fd, name, F_OK,
		      AT_SYMLINK_NOFOLLOW) < 0)
		return -errno;
	return hides_add(m, directory, name);
}

int removal_of_file(struct mount *m, struct node *directory, const char *name)
{
	if (m->hides.used)
		return hide(m, directory, name);
	return trash_delete(m->store, directory->directory.fd, name);
}

int removal_of_directory(struct mount *m, struct node *directory,
			 const char *name)
{
	if (m->hides.used)
		return hide(m, directory, name);
	return unlinkat(directory->directory.fd, name, AT_REMOVEDIR) < 0
		       ? -errno
		       : 0;
}

int removal_of_hidden(struct mount *m, struct node *directory, const char *name)
{
	int fd = directory->directory.fd;
	int err = trash_delete(m->store, fd, name);

	if (err != -EISDIR)
		return err;
	return unlinkat(fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
