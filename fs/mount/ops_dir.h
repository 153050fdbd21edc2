/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPS_DIR_H
#define TACFS_FS_MOUNT_OPS_DIR_H

/* The kernel's requests about open directories: members of mount_ops. */

#include <fuse_lowlevel.h>

void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
		  struct fuse_file_info *fi);
void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi);
void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi);

#endif
