/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/xattr.h"

#include <errno.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/xattr.h>

#include "fs/fd.h"
#include "fs/mount/change.h"
#include "fs/mount/commit.h"
#include "fs/mount/dir.h"
#include "fs/mount/facts.h"
#include "fs/mount/file.h"
#include "fs/own.h"

static bool is_reserved(const char *name)
{
	return strncmp(name, XATTRS_RESERVED, strlen(XATTRS_RESERVED)) == 0;
}

static int check_name(const char *name)
{
	size_t prefix = strlen(XATTRS_PREFIX);

	if (strncmp(name, XATTRS_PREFIX, prefix) != 0)
		return -EOPNOTSUPP;
	return name[prefix] ? 0 : -EINVAL;
}

/* An O_PATH descriptor has attributes by its name in /proc. */
static struct dir_use begin(struct mount *m, struct node *node,
			    char path[FD_LINK_SIZE])
{
	struct dir_use dir = dir_begin(&m->tree, node);

	fd_link(dir.fd, path);
	return dir;
}

static int apply_to_directory(struct mount *m, struct node *node,
			      const struct xattr_change *change)
{
	int flags = (change->create ? XATTR_CREATE : 0) |
		    (change->replace ? XATTR_REPLACE : 0);
	char path[FD_LINK_SIZE];
	AUTO_DIR struct dir_use dir = begin(m, node, path);
	int done;

	if (dir.fd < 0)
		return dir.fd;
	if (change->value)
		done = setxattr(path, change->name, change->value, change->size,
				flags);
	else
		done = removexattr(path, change->name);
	return done < 0 ? -errno : 0;
}

static int apply_to_file(struct mount *m, struct node *node,
			 const struct xattr_change *xattr)
{
	const struct change change = { .xattr = xattr };
	int err;

	pthread_rwlock_wrlock(&node->writing);
	err = change_apply(m, node, &change, true);
	if (!err)
		err = commit_unopened(m, node);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int xattr_apply(struct mount *m, struct node *node,
		const struct xattr_change *change)
{
	int err = check_name(change->name);

	if (err)
		return err;
	if (m->read_only)
		return -EROFS;
	if (is_reserved(change->name))
		return -EPERM;
	switch (node->kind) {
	case NODE_DIRECTORY:
		return apply_to_directory(m, node, change);
	case NODE_FILE:
	case NODE_PRIVATE:
		return apply_to_file(m, node, change);
	case NODE_SYMLINK:
	case NODE_READABLE:
		return -EPERM;
	case NODE_CONTROL:
	case NODE_REPORT:
		break;
	}
	return -EROFS;
}

static int get_of_directory(struct mount *m, struct node *node,
			    const char *name, struct writer *out)
{
	AUTO_FREE void *value = malloc(XATTRS_VALUE_MAX);
	char path[FD_LINK_SIZE];
	AUTO_DIR struct dir_use dir = begin(m, node, path);
	ssize_t size;

	if (!value || dir.fd < 0)
		return dir.fd < 0 ? dir.fd : -ENOMEM;
	size = getxattr(path, name, value, XATTRS_VALUE_MAX);
	if (size < 0)
		return -errno;
	writer_put(out, value, (size_t)size);
	return out->err;
}

static int get_of_file(struct node *node, const char *name, struct writer *out)
{
	struct writer all = writer_upto(XATTRS_MAX);
	struct xattr found;
	int err = file_xattrs(node, &all);

	if (!err &&
	    !xattrs_find((struct xattrs){ all.bytes, all.size }, name, &found))
		err = -ENODATA;
	if (!err) {
		writer_put(out, found.value, found.size);
		err = out->err;
	}
	writer_free(&all);
	return err;
}

int xattr_get(struct mount *m, struct node *node, const char *name,
	      struct writer *out)
{
	int err = check_name(name);

	if (err)
		return err;
	if (is_reserved(name))
		return facts_tell(m, node, name + strlen(XATTRS_RESERVED), out);
	switch (node->kind) {
	case NODE_DIRECTORY:
		return get_of_directory(m, node, name, out);
	case NODE_FILE:
	case NODE_PRIVATE:
		return get_of_file(node, name, out);
	case NODE_SYMLINK:
	case NODE_READABLE:
	case NODE_CONTROL:
	case NODE_REPORT:
		break;
	}
	return -ENODATA;
}

static void put_name(const char *name, struct writer *out)
{
	writer_put(out, name, strlen(name) + 1);
}

/* Other namespaces of the file system below are not shown. */
static int list_directory(struct mount *m, struct node *node,
			  struct writer *out)
{
	AUTO_FREE char *names = malloc(XATTRS_LIST_MAX);
	char path[FD_LINK_SIZE];
	AUTO_DIR struct dir_use dir = begin(m, node, path);
	ssize_t size;

	if (!names || dir.fd < 0)
		return dir.fd < 0 ? dir.fd : -ENOMEM;
	size = listxattr(path, names, XATTRS_LIST_MAX);
	if (size < 0)
		return errno == EOPNOTSUPP ? 0 : -errno;
	for (const char *name = names; name < names + size;
	     name += strlen(name) + 1)
		if (check_name(name) == 0 && !is_reserved(name))
			put_name(name, out);
	return out->err;
}

static int list_file(struct node *node, struct writer *out)
{
	struct writer all = writer_upto(XATTRS_MAX);
	struct xattr at = { .name = NULL };
	int err = file_xattrs(node, &all);

	while (!err && xattrs_next((struct xattrs){ all.bytes, all.size }, &at))
		put_name(at.name, out);
	writer_free(&all);
	return err ? err : out->err;
}

int xattr_list(struct mount *m, struct node *node, struct writer *out)
{
	switch (node->kind) {
	case NODE_DIRECTORY:
		return list_directory(m, node, out);
	case NODE_FILE:
	case NODE_PRIVATE:
		return list_file(node, out);
	case NODE_SYMLINK:
	case NODE_READABLE:
	case NODE_CONTROL:
	case NODE_REPORT:
		break;
	}
	return 0;
}
