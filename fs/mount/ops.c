/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ops.h"

#include <errno.h>
#include <stdlib.h>
#include <sys/statvfs.h>

#include "fs/mount/attr.h"
#include "fs/mount/create.h"
#include "fs/mount/killpriv.h"
#include "fs/mount/lookup.h"
#include "fs/mount/names.h"
#include "fs/mount/ops_dir.h"
#include "fs/mount/ops_file.h"
#include "fs/mount/ops_xattr.h"
#include "fs/mount/rename.h"
#include "fs/mount/request.h"
#include "fs/own.h"

enum { MAX_WRITE = 1024 * 1024 };

static void reply_entry(fuse_req_t req, int err, const struct found *found,
			const char *what, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);
	struct fuse_entry_param entry;

	if (!err)
		err = request_give(m, found, &entry);
	if (err)
		reply_done(req, error_of_name(err), what, parent, name);
	else if (fuse_reply_entry(req, &entry) == -ENOENT)
		request_take_back(m, &entry); /* the request was interrupted */
}

static void op_init(void *userdata, struct fuse_conn_info *conn)
{
	struct mounted *mounted = userdata;

	conn->want &=
		~(unsigned)(FUSE_CAP_AUTO_INVAL_DATA | FUSE_CAP_SPLICE_READ |
			    FUSE_CAP_SPLICE_WRITE | FUSE_CAP_SPLICE_MOVE);
	conn->want |= conn->capable & FUSE_CAP_ATOMIC_O_TRUNC;
	conn->max_write = MAX_WRITE;
	mounted->ready(mounted);
}

static void op_lookup(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = caller_of_request(req);
	struct mount *m = mount_of(req);
	struct found found;
	int err;

	retry_walk(m, caller.thread);
	err = lookup_asked(m, node_of(req, parent), name, &caller, &found);
	reply_entry(req, err, &found, "find", parent, name);
}

static void op_forget(fuse_req_t req, fuse_ino_t ino, uint64_t lookups)
{
	node_forget(&mount_of(req)->tree, node_of(req, ino), lookups);
	fuse_reply_none(req);
}

static void op_forget_multi(fuse_req_t req, size_t count,
			    struct fuse_forget_data *forgets)
{
	for (size_t i = 0; i < count; i++)
		node_forget(&mount_of(req)->tree, node_of(req, forgets[i].ino),
			    forgets[i].nlookup);
	fuse_reply_none(req);
}

static void reply_attr(fuse_req_t req, fuse_ino_t ino)
{
	struct node *node = node_of(req, ino);
	struct stat st;
	int err = node_stat(mount_of(req), node, &st);

	if (err)
		reply_done(req, err, "stat", ino, NULL);
	else
		fuse_reply_attr(req, &st,
				node->kind == NODE_PRIVATE ? TIMEOUT_NONE
							   : TIMEOUT_KEPT);
}

static void op_getattr(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)fi;
	reply_attr(req, ino);
}

static void op_setattr(fuse_req_t req, fuse_ino_t ino, struct stat *attr,
		       int set, struct fuse_file_info *fi)
{
	struct caller caller = caller_of_request(req);
	struct node *node = node_of(req, ino);
	int err;

	set |= killpriv_setattr(req, node, attr, set);
	err = node_setattr(mount_of(req), node, fi ? handle_of(fi) : NULL, attr,
			   set, &caller);
	if (err)
		reply_done(req, err, "change", ino, NULL);
	else
		reply_attr(req, ino);
}

static void op_readlink(fuse_req_t req, fuse_ino_t ino)
{
	AUTO_FREE char *target = NULL;
	int err = name_readlink(mount_of(req), node_of(req, ino), &target);

	if (err)
		reply_done(req, err, "read", ino, NULL);
	else
		fuse_reply_readlink(req, target);
}

static void op_mkdir(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode)
{
	struct caller caller = caller_of_request(req);
	struct found found;
	int err = name_mkdir(mount_of(req), node_of(req, parent), name, mode,
			     &caller, &found);

	reply_entry(req, err, &found, "make", parent, name);
}

static void op_symlink(fuse_req_t req, const char *target, fuse_ino_t parent,
		       const char *name)
{
	struct caller caller = caller_of_request(req);
	struct found found;
	int err = name_symlink(mount_of(req), node_of(req, parent), name,
			       target, &caller, &found);

	reply_entry(req, err, &found, "make", parent, name);
}

static void op_mknod(fuse_req_t req, fuse_ino_t parent, const char *name,
		     mode_t mode, dev_t device)
{
	struct caller caller = caller_of_request(req);
	struct found found;
	int err = -EPERM;

	(void)device;
	if (S_ISREG(mode))
		err = node_create(mount_of(req), node_of(req, parent), name,
				  mode, &caller, &found);
	reply_entry(req, err, &found, "make", parent, name);
}

static void op_link(fuse_req_t req, fuse_ino_t ino, fuse_ino_t parent,
		    const char *name)
{
	(void)ino;
	(void)parent;
	(void)name;
	fuse_reply_err(req, EPERM);
}

static void op_unlink(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = caller_of_request(req);

	reply_done(req,
		   error_of_name(name_unlink(
			   mount_of(req), node_of(req, parent), name, &caller)),
		   "remove", parent, name);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = caller_of_request(req);

	reply_done(req,
		   error_of_name(name_rmdir(mount_of(req), node_of(req, parent),
					    name, &caller)),
		   "remove", parent, name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned flags)
{
	struct caller caller = caller_of_request(req);
	struct rename_end from = { node_of(req, parent), name };
	struct rename_end to = { node_of(req, new_parent), new_name };

	reply_done(req,
		   error_of_name(name_rename(mount_of(req), &from, &to, flags,
					     &caller)),
		   "rename", parent, name);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	if (fstatvfs(store_root(mount_of(req)->store), &st) < 0)
		reply_done(req, -errno, "measure", ino, NULL);
	else
		fuse_reply_statfs(req, &st);
}

const struct fuse_lowlevel_ops mount_ops = {
	.init = op_init,
	.lookup = op_lookup,
	.forget = op_forget,
	.forget_multi = op_forget_multi,
	.getattr = op_getattr,
	.setattr = op_setattr,
	.readlink = op_readlink,
	.mknod = op_mknod,
	.mkdir = op_mkdir,
	.unlink = op_unlink,
	.rmdir = op_rmdir,
	.symlink = op_symlink,
	.rename = op_rename,
	.link = op_link,
	.open = ops_open,
	.read = ops_read,
	.write = ops_write,
	.fallocate = ops_fallocate,
	.lseek = ops_lseek,
	.flush = ops_flush,
	.release = ops_release,
	.fsync = ops_fsync,
	.opendir = ops_opendir,
	.readdir = ops_readdir,
	.readdirplus = ops_readdirplus,
	.releasedir = ops_releasedir,
	.fsyncdir = ops_fsyncdir,
	.statfs = op_statfs,
	.create = ops_create,
	.setxattr = ops_setxattr,
	.getxattr = ops_getxattr,
	.listxattr = ops_listxattr,
	.removexattr = ops_removexattr,
};
