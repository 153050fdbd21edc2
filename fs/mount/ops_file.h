/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPS_FILE_H
#define TACFS_FS_MOUNT_OPS_FILE_H

/* The kernel's requests about open files: members of mount_ops. */

#include <fuse_lowlevel.h>

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		mode_t mode, struct fuse_file_info *fi);
void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
	      struct fuse_file_info *fi);
void ops_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size,
	       off_t offset, struct fuse_file_info *fi);
void ops_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
		   off_t size, struct fuse_file_info *fi);
void ops_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
	       struct fuse_file_info *fi);
void ops_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi);
void ops_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	       struct fuse_file_info *fi);

#endif
