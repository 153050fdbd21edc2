/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_REQUEST_H
#define TACFS_FS_MOUNT_REQUEST_H

/* What a request of the kernel is about, and the answer when it has no result.
 */

#include <errno.h>
#include <fuse_lowlevel.h>

#include "fs/mount/lookup.h"
#include "fs/mount/mount.h"
#include "fs/mount/ops.h"
#include "fs/mount/trouble.h"

static inline struct mount *mount_of(fuse_req_t req)
{
	const struct mounted *mounted = fuse_req_userdata(req);

	return mounted->mount;
}

/* A node id is the node's address: the kernel knows only ids that we gave. */
static inline struct node *node_of(fuse_req_t req, fuse_ino_t ino)
{
	if (ino == FUSE_ROOT_ID)
		return mount_of(req)->tree.root;
	return (struct node *)(uintptr_t)ino;
}

static inline struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static inline struct caller caller_of_request(fuse_req_t req)
{
	return caller_of(fuse_req_ctx(req)->pid);
}

/*
 * The kernel is to repeat opens only. Of anything else it says that another
 * host has removed a directory.
 */
static inline int error_of_name(int err)
{
	return err == -ESTALE ? -ENOENT : err;
}

static inline void reply_err(fuse_req_t req, int err)
{
	fuse_reply_err(req, -err);
}

/* The reply to what was done, or not, with the node, or with a name in it. */
static inline void reply_done(fuse_req_t req, int err, const char *what,
			      fuse_ino_t ino, const char *name)
{
	if (err != -ESTALE) /* it asks the kernel to look again */
		err = trouble_tell(mount_of(req), what, node_of(req, ino), name,
				   err);
	reply_err(req, err);
}

/*
 * The kernel will hold the node that was found: one lookup more, and our hold
 * is dropped. Fills in what it is told; 0, or a negative errno, and then it
 * does not hold it.
 */
int request_give(struct mount *m, const struct found *found,
		 struct fuse_entry_param *entry);
/* It was not told, after all. */
void request_take_back(struct mount *m, const struct fuse_entry_param *entry);

#endif
