/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPS_XATTR_H
#define TACFS_FS_MOUNT_OPS_XATTR_H

/* The kernel's requests about extended attributes: members of mount_ops. */

#include <fuse_lowlevel.h>

void ops_setxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		  const char *value, size_t size, int flags);
void ops_getxattr(fuse_req_t req, fuse_ino_t ino, const char *name,
		  size_t room);
void ops_listxattr(fuse_req_t req, fuse_ino_t ino, size_t room);
void ops_removexattr(fuse_req_t req, fuse_ino_t ino, const char *name);

#endif
