/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/change.h"

#include <errno.h>

#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/rendering.h"
#include "fs/store/fresh.h"
#include "fs/store/publish.h"

/* Before the mtime changes: what shows that as its atime goes on doing so. */
static void note_atime(struct node_file *file, const struct change *change)
{
	if (change->set_atime)
		file->atime = change->atime;
	else if (change->set_mtime && !file->has_atime)
		file->atime = file->mtime;
	else
		return;
	file->has_atime = true;
}

/* Only notes it. */
static int note(struct node *node, const struct change *change)
{
	struct node_file *file = &node->file;
	int err = change->xattr ? file_change_xattrs(node, change->xattr) : 0;

	if (err)
		return err;
	pthread_mutex_lock(&node->lock);
	if (change->set_mode)
		file->mode = change->mode & 07777;
	note_atime(file, change);
	if (change->set_mtime)
		file->mtime = change->mtime;
	clock_gettime(CLOCK_REALTIME, &file->ctime);
	pthread_mutex_unlock(&node->lock);
	return 0;
}

static void change_meta(const struct change *change, struct manifest_meta *meta)
{
	if (change->set_mode)
		meta->mode = change->mode & 07777;
	if (change->set_mtime) {
		meta->mtime_sec = change->mtime.tv_sec;
		meta->mtime_nsec = (uint32_t)change->mtime.tv_nsec;
	}
	if (change->set_atime) {
		meta->atime_sec = change->atime.tv_sec;
		meta->atime_nsec = (uint32_t)change->atime.tv_nsec;
	}
}

static int change_xattrs(const struct change *change, struct publication *p,
			 struct writer *xattrs)
{
	int err;

	if (!change->xattr)
		return 0;
	err = xattrs_change(p->xattrs, change->xattr, xattrs);
	p->xattrs = (struct xattrs){ xattrs->bytes, xattrs->size };
	return err;
}

/* Publishes `old` again, which its name shows, with other attributes. */
static int republish(struct mount *m, struct node *node, int dir,
		     struct version *old, const struct change *change)
{
	struct publication p = {
		.dir = dir,
		.name = node->name,
		.content = -1,
		.meta = *version_meta(old),
		.xattrs = version_xattrs(old),
		.replaces = old,
		.keeps = true,
	};
	struct writer xattrs = writer_upto(XATTRS_MAX);
	struct version *next = NULL;
	int err = change_xattrs(change, &p, &xattrs);

	p.names = version_names(old, &p.name_count);
	change_meta(change, &p.meta);
	if (!err)
		err = store_republish(m->store, old, &p, &next);
	/* Else the node shows an older version; until it is looked up anew. */
	if (!err && !file_adopt(node, next))
		(void)note(node, change);
	version_put(next);
	writer_free(&xattrs);
	return err;
}

/*
 * What its name shows by now may not be what the node does, and may change. By
 * path the change is meant for what it shows; of an open file, for that file.
 */
static int republish_current(struct mount *m, struct node *node,
			     const struct change *change, bool by_path)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, node->parent);
	struct version *v;
	int err = -EAGAIN;

	if (dir.fd < 0)
		return dir.fd == -ESTALE ? -ENOENT : dir.fd;
	v = file_version(node);
	while (err == -EAGAIN) {
		fresh_names(m->store, dir.fd);
		err = version_look(v, dir.fd, node->name);
		if (err == -EAGAIN) {
			version_put(v);
			v = NULL;
			err = by_path ? version_load(m->store, dir.fd,
						     node->name, &v)
				      : -ENOENT;
		}
		if (!err)
			err = republish(m, node, dir.fd, v, change);
	}
	version_put(v);
	return err;
}

/* Whether its attributes are published, and nothing else is to be. */
static bool is_published(struct mount *m, struct node *node)
{
	bool published;

	if (file_is_abandoned(m, node))
		return false;
	pthread_mutex_lock(&node->lock);
	published = node->kind == NODE_FILE && node->file.version &&
		    !node->file.dirty;
	pthread_mutex_unlock(&node->lock);
	return published;
}

int change_apply(struct mount *m, struct node *node,
		 const struct change *change, bool by_path)
{
	int err;

	if (is_published(m, node))
		return republish_current(m, node, change, by_path);
	err = note(node, change);
	if (err || file_is_abandoned(m, node) ||
	    (node->kind == NODE_PRIVATE && rendering_is_name(node->name)))
		return err;
	pthread_mutex_lock(&node->lock);
	node->file.dirty = true;
	pthread_mutex_unlock(&node->lock);
	return 0;
}
