/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/ops_dir.h"

#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "fs/mount/attr.h"
#include "fs/mount/dir.h"
#include "fs/mount/listing.h"
#include "fs/mount/lookup.h"
#include "fs/mount/request.h"
#include "fs/own.h"

enum { UNKNOWN_INO = 0x7fffffff /* 0 would be no entry */ };

static struct listing *listing_of(const struct fuse_file_info *fi)
{
	return (struct listing *)(uintptr_t)fi->fh;
}

void ops_opendir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
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

void ops_releasedir(fuse_req_t req, fuse_ino_t ino, struct fuse_file_info *fi)
{
	(void)ino;
	listing_close(mount_of(req), listing_of(fi));
	fuse_reply_err(req, 0);
}

void ops_fsyncdir(fuse_req_t req, fuse_ino_t ino, int datasync,
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
		err = request_give(m, &found, &entry);
	if (err)
		return err == -ENOENT || err == -ESTALE ||
		       put_unknown(page, name, next);
	fits = put_entry(page, name, &entry, next);
	if (!fits || !page->plus)
		request_take_back(m, &entry);
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
		reply_done(req, error_of_name(err), "list", ino, NULL);
		return;
	}
	while ((name = listing_name(l, (size_t)offset)) &&
	       put_name(&page, name, offset + 1))
		offset++;
	fuse_reply_buf(req, bytes, page.used);
}

void ops_readdir(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		 struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, false);
}

void ops_readdirplus(fuse_req_t req, fuse_ino_t ino, size_t size, off_t offset,
		     struct fuse_file_info *fi)
{
	read_directory(req, ino, size, offset, fi, true);
}
