/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/file.h"

#include <errno.h>
#include <string.h>
#include <sys/random.h>
#include <unistd.h>

int file_new_ino(uint64_t *ino)
{
	ssize_t size;

	do
		size = getrandom(ino, sizeof(*ino), 0);
	while (size < 0 && errno == EINTR);
	if (size != (ssize_t)sizeof(*ino))
		return -EIO;
	/* Apart from the directories', and odd: see rendering.c. */
	*ino = *ino >> 1 | 1ULL << 62 | 1;
	return 0;
}

void file_adopt_meta(struct node_file *file, const struct manifest_meta *meta)
{
	file->ino = meta->ino;
	file->mode = meta->mode;
	file->mtime.tv_sec = meta->mtime_sec;
	file->mtime.tv_nsec = meta->mtime_nsec;
	file->atime.tv_sec = meta->atime_sec;
	file->atime.tv_nsec = meta->atime_nsec;
	file->has_atime = meta->atime_sec != meta->mtime_sec ||
			  meta->atime_nsec != meta->mtime_nsec;
}

static void adopt(struct node_file *file, const struct version *v)
{
	file_adopt_meta(file, version_meta(v));
	file->ctime = version_changed(v);
}

struct version *file_version(struct node *node)
{
	struct version *v;

	pthread_mutex_lock(&node->lock);
	v = node->file.version ? version_get(node->file.version) : NULL;
	pthread_mutex_unlock(&node->lock);
	return v;
}

static bool shows(struct node *node, const struct version *v)
{
	struct version *shown = file_version(node);
	bool same = shown && version_same(shown, v);

	version_put(shown);
	return same;
}

/* Two lookups at once must not attach two nodes for one version. */
static struct node *attach_or_find(struct mount *m, struct node *node,
				   const struct version *v)
{
	struct node *other;

	tree_lock(&m->tree);
	other = tree_find(&m->tree, node->parent, node->name);
	if (other && other->kind == NODE_FILE && shows(other, v)) {
		node_hold(other);
	} else {
		tree_attach(&m->tree, node);
		other = NULL;
	}
	tree_unlock(&m->tree);
	if (!other)
		return node;
	node_drop(&m->tree, node);
	return other;
}

struct node *file_node(struct mount *m, struct node *parent, const char *name,
		       struct version *v)
{
	struct node *node = node_new(&m->tree, NODE_FILE, parent, name);

	if (!node)
		return NULL;
	node->file.version = version_get(v);
	adopt(&node->file, v);
	return attach_or_find(m, node, v);
}

bool file_is_worked_on(struct node *node)
{
	bool worked_on;

	pthread_mutex_lock(&node->lock);
	worked_on = node->file.work || node->file.writers || node->file.dirty;
	pthread_mutex_unlock(&node->lock);
	return worked_on;
}

bool file_is_dirty(struct node *node)
{
	bool dirty;

	pthread_mutex_lock(&node->lock);
	dirty = node->file.dirty;
	pthread_mutex_unlock(&node->lock);
	return dirty;
}

bool file_is_abandoned(struct mount *m, const struct node *node)
{
	bool abandoned;

	tree_lock(&m->tree);
	abandoned = node->file.abandoned;
	tree_unlock(&m->tree);
	return abandoned;
}

int file_measure(struct node *node, uint64_t *size, uint64_t *stored)
{
	const struct node_file *file = &node->file;
	int err = 0;

	pthread_mutex_lock(&node->lock);
	if (file->work) {
		err = scratch_measure(file->work, size, stored);
	} else {
		*size = file->version ? version_meta(file->version)->size : 0;
		*stored =
			file->version ? version_meta(file->version)->stored : 0;
	}
	pthread_mutex_unlock(&node->lock);
	return err;
}

int file_size(struct node *node, uint64_t *size)
{
	uint64_t stored;

	return file_measure(node, size, &stored);
}

bool file_is_empty(struct node *node)
{
	uint64_t size;

	return file_size(node, &size) == 0 && !size;
}

static struct scratch *work_of(struct node *node)
{
	struct scratch *work;

	pthread_mutex_lock(&node->lock);
	work = node->file.work;
	pthread_mutex_unlock(&node->lock);
	return work;
}

static ssize_t read_version(struct mount *m, struct node *node, uint64_t offset,
			    void *bytes, size_t size)
{
	struct version *v = file_version(node);
	ssize_t count = 0;

	if (v)
		count = version_read(m->store, v, offset, bytes, size);
	version_put(v);
	return count;
}

ssize_t file_read(struct mount *m, struct node *node, uint64_t offset,
		  void *bytes, size_t size)
{
	struct scratch *work;
	ssize_t count;

	pthread_rwlock_rdlock(&node->writing);
	work = work_of(node);
	if (work)
		count = scratch_read(work, offset, bytes, size);
	else
		count = read_version(m, node, offset, bytes, size);
	pthread_rwlock_unlock(&node->writing);
	return count;
}

static void touch(struct node *node)
{
	pthread_mutex_lock(&node->lock);
	clock_gettime(CLOCK_REALTIME, &node->file.mtime);
	node->file.ctime = node->file.mtime;
	node->file.dirty = true;
	pthread_mutex_unlock(&node->lock);
}

/* With node.writing held alone: what is published, as content to write to. */
static int need_work(struct mount *m, struct node *node, bool empty)
{
	struct version *v;
	struct scratch *work = NULL;
	int err = 0;

	if (work_of(node))
		return 0;
	v = empty ? NULL : file_version(node);
	if (v)
		err = scratch_copy(&m->scratches, v, &work);
	else if (!(work = scratch_new(&m->scratches)))
		err = -ENOMEM;
	version_put(v);
	if (err)
		return err;
	pthread_mutex_lock(&node->lock);
	node->file.work = work;
	pthread_mutex_unlock(&node->lock);
	return 0;
}

/* Holds node.writing shared when it returns 0, and then there is content. */
static int begin_write(struct mount *m, struct node *node)
{
	int err;

	for (;;) {
		pthread_rwlock_rdlock(&node->writing);
		if (work_of(node))
			return 0;
		pthread_rwlock_unlock(&node->writing);
		pthread_rwlock_wrlock(&node->writing);
		err = need_work(m, node, false);
		pthread_rwlock_unlock(&node->writing);
		if (err)
			return err;
	}
}

int file_write(struct mount *m, struct node *node, uint64_t offset,
	       const void *bytes, size_t size)
{
	int err = begin_write(m, node);

	if (err)
		return err;
	err = scratch_write(work_of(node), offset, bytes, size);
	touch(node);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int file_append(struct mount *m, struct node *node, const void *bytes,
		size_t size)
{
	uint64_t end = 0;
	int err;

	pthread_rwlock_wrlock(&node->writing);
	err = need_work(m, node, false);
	if (!err)
		err = scratch_size(work_of(node), &end);
	if (!err) {
		err = scratch_write(work_of(node), end, bytes, size);
		touch(node);
	}
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int file_resize_locked(struct mount *m, struct node *node, uint64_t size)
{
	int err = need_work(m, node, size == 0);

	if (!err)
		err = scratch_resize(work_of(node), size);
	if (!err)
		touch(node);
	return err;
}

int file_resize(struct mount *m, struct node *node, uint64_t size)
{
	int err;

	pthread_rwlock_wrlock(&node->writing);
	err = file_resize_locked(m, node, size);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int file_allocate(struct mount *m, struct node *node, int mode, uint64_t offset,
		  uint64_t size)
{
	int err;

	pthread_rwlock_wrlock(&node->writing);
	err = need_work(m, node, false);
	if (!err)
		err = scratch_allocate(work_of(node), mode, offset, size);
	if (!err)
		touch(node);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

int file_seek_whole(uint64_t size, uint64_t offset, int whence, uint64_t *at)
{
	if (offset >= size)
		return -ENXIO;
	*at = whence == SEEK_DATA ? offset : size;
	return 0;
}

static int seek_published(struct node *node, uint64_t offset, int whence,
			  uint64_t *at)
{
	uint64_t size;
	int err = file_size(node, &size);

	return err ? err : file_seek_whole(size, offset, whence, at);
}

int file_seek(struct node *node, uint64_t offset, int whence, uint64_t *at)
{
	int err;

	pthread_rwlock_rdlock(&node->writing);
	err = work_of(node) ? scratch_seek(work_of(node), offset, whence, at)
			    : seek_published(node, offset, whence, at);
	pthread_rwlock_unlock(&node->writing);
	return err;
}

/* With node.lock held. */
static struct xattrs xattrs_of(const struct node_file *file)
{
	if (file->has_xattrs)
		return (struct xattrs){ file->xattrs, file->xattrs_size };
	return file->version ? version_xattrs(file->version)
			     : (struct xattrs){ NULL, 0 };
}

int file_xattrs(struct node *node, struct writer *out)
{
	struct xattrs all;

	pthread_mutex_lock(&node->lock);
	all = xattrs_of(&node->file);
	writer_put(out, all.bytes, all.size);
	pthread_mutex_unlock(&node->lock);
	return out->err;
}

/* With node.lock held; the bytes are the node's from now on. */
static void set_xattrs(struct node_file *file, uint8_t *bytes, size_t size)
{
	free(file->xattrs);
	file->xattrs = bytes;
	file->xattrs_size = size;
}

int file_change_xattrs(struct node *node, const struct xattr_change *change)
{
	struct writer made = writer_upto(XATTRS_MAX);
	size_t size;
	int err;

	pthread_mutex_lock(&node->lock);
	err = xattrs_change(xattrs_of(&node->file), change, &made);
	if (!err) {
		uint8_t *bytes = writer_take(&made, &size);

		set_xattrs(&node->file, bytes, size);
		node->file.has_xattrs = true;
	}
	pthread_mutex_unlock(&node->lock);
	writer_free(&made);
	return err;
}

void file_set_publishing(struct mount *m, struct node *node, bool publishing)
{
	tree_lock(&m->tree);
	node->file.publishing = publishing;
	tree_unlock(&m->tree);
}

/* With node.lock held. The version before is the caller's. */
static struct version *take_over(struct node_file *file, struct version *v)
{
	struct version *old = file->version;

	file->version = version_get(v);
	file->dirty = false;
	file->withheld = false;
	file->has_xattrs = false;
	set_xattrs(file, NULL, 0);
	adopt(file, v);
	return old;
}

void file_published(struct node *node, struct version *v)
{
	struct version *old;

	pthread_mutex_lock(&node->lock);
	old = take_over(&node->file, v);
	pthread_mutex_unlock(&node->lock);
	version_put(old);
}

void file_drop_work(struct node *node)
{
	struct scratch *work = NULL;

	pthread_mutex_lock(&node->lock);
	if (!node->file.writers && !node->file.dirty && !node->file.withheld) {
		work = node->file.work;
		node->file.work = NULL;
	}
	pthread_mutex_unlock(&node->lock);
	scratch_free(work);
}

static bool is_same_file(const struct version *a, const struct version *b)
{
	const struct manifest_meta *x = version_meta(a);
	const struct manifest_meta *y = version_meta(b);

	return x->ino == y->ino && x->size == y->size &&
	       memcmp(x->sha256, y->sha256, SHA256_SIZE) == 0;
}

bool file_adopt(struct node *node, struct version *v)
{
	struct version *old = file_version(node);
	bool same = old && is_same_file(old, v);

	version_put(old);
	if (same)
		file_published(node, v);
	return same;
}

bool file_adopt_found(struct node *node, struct version *v)
{
	struct node_file *file = &node->file;
	struct version *old = NULL;
	bool shows;

	pthread_mutex_lock(&node->lock);
	shows = file->work || file->writers || file->dirty;
	if (!shows && file->version && is_same_file(file->version, v)) {
		old = take_over(file, v);
		shows = true;
	}
	pthread_mutex_unlock(&node->lock);
	version_put(old);
	return shows;
}
