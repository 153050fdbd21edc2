/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ops.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/statvfs.h>

#include "fs/fd.h"
#include "fs/mount/attr.h"
#include "fs/mount/create.h"
#include "fs/mount/dir.h"
#include "fs/mount/killpriv.h"
#include "fs/mount/listing.h"
#include "fs/mount/lookup.h"
#include "fs/mount/names.h"
#include "fs/mount/open.h"
#include "fs/mount/ops_xattr.h"
#include "fs/mount/rename.h"
#include "fs/mount/request.h"
#include "fs/mount/space.h"
#include "fs/mount/trouble.h"
#include "fs/own.h"

enum {
	MAX_WRITE = 1024 * 1024,
	UNKNOWN_INO = 0x7fffffff /* 0 would be no entry */
};

static fuse_ino_t ino_of(struct mount *m, const struct node *node)
{
	return node == m->tree.root ? FUSE_ROOT_ID : (uintptr_t)node;
}

static struct handle *handle_of(const struct fuse_file_info *fi)
{
	return (struct handle *)(uintptr_t)fi->fh;
}

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

static struct caller caller_of_request(fuse_req_t req)
{
	return caller_of(fuse_req_ctx(req)->pid);
}

/*
 * The kernel is to repeat opens only. Of anything else it says that another
 * host has removed a directory.
 */
static int of_name(int err)
{
	return err == -ESTALE ? -ENOENT : err;
}

/* The kernel will hold the node: one lookup more, and our hold is dropped. */
static int give(struct mount *m, const struct found *found,
		struct fuse_entry_param *entry)
{
	int err;

	*entry = (struct fuse_entry_param){
		.ino = ino_of(m, found->node),
		.entry_timeout = found->timeout,
		.attr_timeout = found->timeout,
	};
	err = node_stat(m, found->node, &entry->attr);
	if (!err) {
		if (!entry->attr.st_nlink)
			entry->attr.st_nlink = 1; /* when it was found */
		tree_lock(&m->tree);
		found->node->lookups++;
		found->node->seen = ++m->tree.clock;
		tree_unlock(&m->tree);
	}
	node_drop(&m->tree, found->node);
	return err;
}

static void take_back(struct mount *m, const struct fuse_entry_param *entry)
{
	node_forget(&m->tree, (struct node *)(uintptr_t)entry->ino, 1);
}

static void reply_entry(fuse_req_t req, int err, const struct found *found,
			const char *what, fuse_ino_t parent, const char *name)
{
	struct mount *m = mount_of(req);
	struct fuse_entry_param entry;

	if (!err)
		err = give(m, found, &entry);
	if (err)
		reply_done(req, of_name(err), what, parent, name);
	else if (fuse_reply_entry(req, &entry) == -ENOENT)
		take_back(m, &entry); /* the request was interrupted */
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
	struct found found;
	int err = lookup_asked(mount_of(req), node_of(req, parent), name,
			       &caller, &found);

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
		   of_name(name_unlink(mount_of(req), node_of(req, parent),
				       name, &caller)),
		   "remove", parent, name);
}

static void op_rmdir(fuse_req_t req, fuse_ino_t parent, const char *name)
{
	struct caller caller = caller_of_request(req);

	reply_done(req,
		   of_name(name_rmdir(mount_of(req), node_of(req, parent), name,
				      &caller)),
		   "remove", parent, name);
}

static void op_rename(fuse_req_t req, fuse_ino_t parent, const char *name,
		      fuse_ino_t new_parent, const char *new_name,
		      unsigned flags)
{
	struct caller caller = caller_of_request(req);
	struct rename_end from = { node_of(req, parent), name };
	struct rename_end to = { node_of(req, new_parent), new_name };

	reply_done(
		req,
		of_name(name_rename(mount_of(req), &from, &to, flags, &caller)),
		"rename", parent, name);
}

/* No content changes behind the kernel's back, so its pages stay right. */
static void set_handle(struct fuse_file_info *fi, struct handle *h)
{
	fi->fh = (uintptr_t)h;
	fi->keep_cache = 1;
	fi->direct_io = h->text != NULL; /* each open has its own */
}

static void op_open(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
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

static void op_create(fuse_req_t req, fuse_ino_t parent, const char *name,
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
		err = give(m, &found, &entry);
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
		take_back(m, &entry);
	}
}

static void op_read(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
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

static void op_write(fuse_req_t req, fuse_ino_t ino, const char *bytes,
		     size_t size, off_t offset, struct fuse_file_info *fi)
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

static void op_fallocate(fuse_req_t req, fuse_ino_t ino, int mode, off_t offset,
			 off_t size, struct fuse_file_info *fi)
{
	int err = handle_allocate(mount_of(req), handle_of(fi), mode,
				  (uint64_t)offset, (uint64_t)size);

	if (!err)
		killpriv_written(req, node_of(req, ino));
	reply_done(req, err, "allocate", ino, NULL);
}

static void op_lseek(fuse_req_t req, fuse_ino_t ino, off_t offset, int whence,
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

static void op_flush(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	struct caller caller = caller_of_request(req);

	(void)ino;
	reply_err(req, handle_flush(mount_of(req), handle_of(fi), &caller));
}

static void op_release(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	(void)ino;
	handle_release(mount_of(req), handle_of(fi));
	fuse_reply_err(req, 0);
}

static void op_fsync(fuse_req_t req, fuse_ino_t ino, int datasync,
		     struct fuse_file_info *fi)
{
	(void)datasync;
	reply_done(req, handle_sync(mount_of(req), handle_of(fi)), "sync", ino,
		   NULL);
}

static void op_opendir(fuse_req_t req, fuse_ino_t ino,
		       struct fuse_file_info *fi)
{
	struct mount *m = mount_of(req);
	struct listing *l = listing_open(m, node_of(req, ino));

	if (!l) {
		fuse_reply_err(req, ENOMEM);
		return;
	}
	fi->fh = (uintptr_t)l;
	if (fuse_reply_open(req, fi) == -ENOENT)
		listing_close(m, l);
}

static void op_releasedir(fuse_req_t req, fuse_ino_t ino,
			  struct fuse_file_info *fi)
{
	(void)ino;
	listing_close(mount_of(req), listing_of(fi));
	fuse_reply_err(req, 0);
}

static void op_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
			struct fuse_file_info *fi)
{
	struct node *node = node_of(req, ino);
	int err = node->kind == NODE_CONTROL
			  ? 0
			  : dir_sync(&mount_of(req)->tree, node);

	(void)datasync;
	(void)fi;
	reply_done(req, err, "sync", ino, NULL);
}

static void op_statfs(fuse_req_t req, fuse_ino_t ino)
{
	struct statvfs st;

	if (fstatvfs(store_root(mount_of(req)->store), &st) < 0)
		reply_done(req, -errno, "measure", ino, NULL);
	else
		fuse_reply_statfs(req, &st);
}

/* One reply to READDIR or READDIRPLUS, being filled. */
struct page {
	fuse_req_t req;
	char *bytes;
	size_t size;
	size_t used;
	bool plus;
	struct listing *listing;
	struct caller caller;
};

static bool is_dots(const char *name)
{
	return strcmp(name, ".") == 0 || strcmp(name, "..") == 0;
}

/* The entry itself: false when it does not fit any more. */
static bool put_entry(struct page *page, const char *name,
		      const struct fuse_entry_param *entry, off_t next)
{
	size_t left = page->size - page->used;
	char *at = page->bytes + page->used;
	size_t need = page->plus ? fuse_add_direntry_plus(page->req, at, left,
							  name, entry, next)
				 : fuse_add_direntry(page->req, at, left, name,
						     &entry->attr, next);

	if (need > left)
		return false;
	page->used += need;
	return true;
}

static bool put_dots(struct page *page, const char *name, off_t next)
{
	struct fuse_entry_param entry = { 0 };

	if (node_stat(mount_of(page->req), listing_directory(page->listing),
		      &entry.attr) != 0)
		entry.attr.st_mode = S_IFDIR;
	return put_entry(page, name, &entry, next);
}

/* It is there, and who asks for it gets the error; nothing else is known. */
static bool put_unknown(struct page *page, const char *name, off_t next)
{
	struct fuse_entry_param entry = { .attr.st_ino = UNKNOWN_INO };

	return put_entry(page, name, &entry, next);
}

/*
 * Looks the entry up, so that nothing is listed that then cannot be found.
 * READDIRPLUS gives the kernel what it would look up next.
 */
static bool put_name(struct page *page, const char *name, off_t next)
{
	struct mount *m = mount_of(page->req);
	struct fuse_entry_param entry;
	struct found found;
	bool fits;
	int err;

	if (is_dots(name))
		return put_dots(page, name, next);
	err = lookup_name(m, listing_directory(page->listing), name,
			  &page->caller, &found);
	if (!err)
		err = give(m, &found, &entry);
	if (err)
		return err == -ENOENT || err == -ESTALE ||
		       put_unknown(page, name, next);
	fits = put_entry(page, name, &entry, next);
	if (!fits || !page->plus)
		take_back(m, &entry);
	if (fits)
		listing_gave(m, page->listing, name, &page->caller);
	return fits;
}

static void read_directory(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t offset, struct fuse_file_info *fi, bool plus)
{
	AUTO_FREE char *bytes = malloc(size);
	struct listing *l = listing_of(fi);
	struct page page = {
		.req = req,
		.bytes = bytes,
		.size = size,
		.plus = plus,
		.listing = l,
		.caller = caller_of_request(req),
	};
	const char *name;
	int err = bytes ? 0 : -ENOMEM;

	if (!err && offset == 0)
		err = listing_fill(mount_of(req), l, &page.caller);
	if (err) {
		reply_done(req, of_name(err), "list", ino, NULL);
		return;
	}
	while ((name = listing_name(l, (size_t)offset)) &&
	       put_name(&page, name, offset + 1))
		offset++;
	fuse_reply_buf(req, bytes, page.used);
}

static void op_readdir(fuse_req_t req, fuse_ino_t ino, size_t size,
		       off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, false);
}

static void op_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size,
			   off_t offset, struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, true);
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
	.open = op_open,
	.read = op_read,
	.write = op_write,
	.fallocate = op_fallocate,
	.lseek = op_lseek,
	.flush = op_flush,
	.release = op_release,
	.fsync = op_fsync,
	.opendir = op_opendir,
	.readdir = op_readdir,
	.readdirplus = op_readdirplus,
	.releasedir = op_releasedir,
	.fsyncdir = op_fsyncdir,
	.statfs = op_statfs,
	.create = op_create,
	.setxattr = ops_setxattr,
	.getxattr = ops_getxattr,
	.listxattr = ops_listxattr,
	.removexattr = ops_removexattr,
};
