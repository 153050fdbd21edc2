/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ops_file.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>

#include "fs/mount/create.h"
#include "fs/mount/killpriv.h"
#include "fs/mount/open.h"
#include "fs/mount/request.h"
#include "fs/mount/space.h"
#include "fs/own.h"

/* No content changes behind the kernel's back, so its pages stay right. */
static void set_handle(struct fuse_file_info *fi, struct handle *h)
{
	fi->fh = (uintptr_t)h;
	fi->keep_cache = 1;
	fi->direct_io = h->text != NULL; /* each open has its own */
}

void ops_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);
	struct caller caller = caller_of_request(req);
	struct handle *h;
	int err = handle_open(m, node_of(req, ino), fi->flags, &caller, &h);

	if (err) {
		reply_done(req, err, "open", ino, NULL);
		return;
	}
	if (fi->flags & O_TRUNC)
		killpriv_written(req, h->node);
	set_handle(fi, h);
	if (fuse_reply_open(req, fi) == -ENOENT)
		handle_release(m, h);
}

void ops_create(fuse_req_t req, fuse_ino_t parent, const char *name,
		mode_t mode, struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);
	struct caller caller = caller_of_request(req);
	struct fuse_entry_param entry;
	struct found found;
	struct handle *h;
	int err = handle_create(m, node_of(req, parent), name, mode, fi->flags,
				&caller, &found, &h);

	if (!err) {
		err = request_give(m, &found, &entry);
		if (err)
			handle_release(m, h);
	}
	if (err) {
		reply_done(req, err, "make", parent, name);
		return;
	}
	set_handle(fi, h);
	if (fuse_reply_create(req, &entry, fi) == -ENOENT) {
		handle_release(m, h);
		request_take_back(m, &entry);
	}
}

void ops_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
	      struct fuse_file_info *fi)
{
	AUTO_FREE void *bytes = malloc(size ? size : 1);
	ssize_t count;

	if (!bytes) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	count = handle_read(mount_of(req), handle_of(fi), (uint64_t)offset,
			    bytes, size);
	if (count < 0)
		reply_done(req, (int)count, "read", ino, NULL);
	else
		fuse_reply_buf(req, bytes, (size_t)count);
}

void ops_write(fuse_req_t req, fuse_ino_t ino, const char *bytes, size_t size,
	       off_t offset, struct fuse_file_info *fi)
{
	int err = handle_write(mount_of(req), handle_of(fi), (uint64_t)offset,
			       bytes, size, fi->writepage);

	if (!err && !fi->writepage)
		killpriv_written(req, node_of(req, ino));
	if (err)
		reply_done(req, err, "write", ino, NULL);
	else
		fuse_reply_write(req, size);
}

void ops_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
		   off_t size, struct fuse_file_info *fi)
{
	int err = handle_allocate(mount_of(req), handle_of(fi), mode,
				  (uint64_t)offset, (uint64_t)size);

	if (!err)
		killpriv_written(req, node_of(req, ino));
	reply_done(req, err, "allocate", ino, NULL);
}

void ops_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
	       struct fuse_file_info *fi)
{
	uint64_t at;
	int err = handle_seek(handle_of(fi), (uint64_t)offset, whence, &at);

	(void)ino;
	if (err)
		reply_err(req, err);
	else
		fuse_reply_lseek(req, (off_t)at);
}

void ops_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct caller caller = caller_of_request(req);

	(void)ino;
	reply_err(req, handle_flush(mount_of(req), handle_of(fi), &caller));
}

void ops_release(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	handle_release(mount_of(req), handle_of(fi));
	fuse_reply_err(req, 0);
}

void ops_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
	       struct fuse_file_info *fi)
{
	(void)datasync;
	reply_done(req, handle_sync(mount_of(req), handle_of(fi)), "sync", ino,
		   NULL);
}
