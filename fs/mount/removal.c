/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/removal.h"

#include <errno.h>
#include <fcntl.h>
#include <unistd.h>

static int hide(struct mount *m, struct node *directory, const char *name)
{
	if (hides_has(m, directory, name) ||
	    faccessat(directory->directory.fd, name, F_OK,
		      AT_SYMLINK_NOFOLLOW) < 0)
		return -ENOENT;
	return hides_add(m, directory, name);
}

int removal_of_file(struct mount *m, struct node *directory, const char *name)
{
	if (m->hides.used)
		return hide(m, directory, name);
	return unlinkat(directory->directory.fd, name, 0) < 0 ? -errno : 0;
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

int removal_of_hidden(struct node *directory, const char *name)
{
	int fd = directory->directory.fd;

	if (unlinkat(fd, name, 0) == 0)
		return 0;
	if (errno != EISDIR)
		return -errno;
	return unlinkat(fd, name, AT_REMOVEDIR) < 0 ? -errno : 0;
}
