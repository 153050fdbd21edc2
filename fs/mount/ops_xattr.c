/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ops_xattr.h"

#include <sys/xattr.h>

#include "fs/mount/request.h"
#include "fs/mount/xattr.h"

static void change_xattr(fuse_req_t req, fuse_ino_t ino,
			 const struct xattr_change *change)
{
	int err = xattr_apply(mount_of(req), node_of(req, ino), change);

	if (err == -E2BIG) /* it is the file that is full, not the store */
		fuse_reply_err(req, ENOSPC);
	else
		reply_done(req, err, "change", ino, NULL);
}

void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		  const char *value, size_t size, int flags)
{
	const struct xattr_change change = {
		.name = name,
		.value = value,
		.size = size,
		.create = flags & XATTR_CREATE,
		.replace = flags & XATTR_REPLACE,
	};

	change_xattr(req, ino, &change);
}

void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name)
{
	change_xattr(req, ino, &(struct xattr_change){ .name = name });
}

/* What there is, when it was found, as far as there is room for it. */
static void reply_xattr(fuse_req_t req, int err, fuse_ino_t ino,
			struct writer *found, size_t room)
{
	if (err)
		reply_done(req, err, "read", ino, NULL);
	else if (!room)
		fuse_reply_xattr(req, found->size);
	else if (found->size > room)
		fuse_reply_err(req, ERANGE);
	else
		fuse_reply_buf(req, (const char *)found->bytes, found->size);
	writer_free(found);
}

void ops_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name, size_t room)
{
	struct writer value = writer_upto(XATTRS_VALUE_MAX);
	int err = xattr_get(mount_of(req), node_of(req, ino), name, &value);

	reply_xattr(req, err, ino, &value, room);
}

void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room)
{
	struct writer names = writer_upto(XATTRS_LIST_MAX);
	int err = xattr_list(mount_of(req), node_of(req, ino), &names);

	reply_xattr(req, err, ino, &names, room);
}
