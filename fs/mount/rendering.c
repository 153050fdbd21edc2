/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/rendering.h"

#include <errno.h>
#include <string.h>

#include "compiler/readable.h"
#include "fs/mount/commit.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/own.h"

/*
 * One less than its source's, which is odd: cp(1) copies a directory in the
 * order of the inode numbers, and a readable.py must be copied, as an ordinary
 * file, before a compiled_module that brings its own.
 */
static uint64_t rendering_ino(uint64_t source)
{
	return source & ~UINT64_C(1);
}

bool rendering_is_name(const char *name)
{
	return strcmp(name, RENDERING_NAME) == 0;
}

static bool is_current(struct mount *m, const struct version *v,
		       struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	return dir.fd >= 0 && version_is_current(v, dir.fd, RENDERING_SOURCE);
}

/* The version of a cached node, when it still is what the name shows. */
static struct version *cached_source(struct mount *m, struct node *directory)
{
	struct version *v = NULL;
	struct node *node;

	tree_lock(&m->tree);
	node = tree_find(&m->tree, directory, RENDERING_SOURCE);
	if (node && node->kind == NODE_FILE)
		v = file_version(node);
	tree_unlock(&m->tree);
	if (v && !is_current(m, v, directory)) {
		version_put(v);
		v = NULL;
	}
	return v;
}

int rendering_source(struct mount *m, struct node *directory,
		     struct version **out)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	int err;

	if (dir.fd < 0)
		return dir.fd;
	if (hides_has(m, directory, RENDERING_SOURCE))
		return -ENOENT;
	*out = cached_source(m, directory);
	if (*out)
		return 0;
	err = version_load(m->store, dir.fd, RENDERING_SOURCE, out);
	/* A directory, or a symlink, of that name has no rendering. */
	return err == -EISDIR || err == -ELOOP || err == -ENXIO ? -ENOENT : err;
}

static bool is_hidden(struct mount *m, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct version *hidden;
	bool is;

	tree_lock(&m->tree);
	hidden = directory->directory.hidden;
	if (hidden)
		version_get(hidden);
	tree_unlock(&m->tree);
	is = hidden && version_is_shown(hidden, dir.fd, RENDERING_SOURCE);
	version_put(hidden);
	return is;
}

int rendering_shown(struct mount *m, struct node *directory,
		    struct version **out)
{
	struct version *source;
	int err = rendering_source(m, directory, &source);

	if (err)
		return err;
	if (is_hidden(m, directory)) {
		version_put(source);
		return -ENOENT;
	}
	*out = source;
	return 0;
}

/* Reads all of a version; the caller frees the bytes. */
static int read_all(struct mount *m, struct version *v, uint8_t **bytes)
{
	size_t size = version_meta(v)->size;
	uint8_t *all = malloc(size ? size : 1);
	size_t done = 0;

	if (!all)
		return -ENOMEM;
	while (done < size) {
		ssize_t count = version_read(m->store, v, done, all + done,
					     size - done);

		if (count <= 0) {
			free(all);
			return count < 0 ? (int)count : -EIO;
		}
		done += (size_t)count;
	}
	*bytes = all;
	return 0;
}

int rendering_make(struct mount *m, struct version *source, struct writer *out)
{
	AUTO_FREE uint8_t *bytes = NULL;
	int err = read_all(m, source, &bytes);

	return err ? err
		   : readable_render(bytes, version_meta(source)->size, out);
}

/* Manifests hold the size, unless an older renderer wrote it. */
static int shown_size(struct mount *m, struct version *source, uint64_t *size)
{
	const struct manifest_meta *meta = version_meta(source);
	struct writer text = writer_upto(READABLE_MAX);
	int err;

	if (meta->renderer == READABLE_REVISION) {
		*size = meta->readable_size;
		return 0;
	}
	err = rendering_make(m, source, &text);
	*size = text.size;
	writer_free(&text);
	return err;
}

static struct node *cached_node(struct mount *m, struct node *directory)
{
	struct node *node =
		tree_hold(&m->tree, directory, RENDERING_NAME, NODE_READABLE);

	if (!node || (node->file.version &&
		      is_current(m, node->file.version, directory)))
		return node;
	node_drop(&m->tree, node);
	return NULL;
}

/* `source` is NULL for what an insider still sees after its removal. */
static int new_node(struct mount *m, struct node *directory,
		    struct version *source, struct node **out)
{
	struct node *node;
	uint64_t size = 0;
	int err = source ? shown_size(m, source, &size) : 0;

	if (err)
		return err;
	node = node_new(&m->tree, NODE_READABLE, directory, RENDERING_NAME);
	if (!node)
		return -ENOMEM;
	node->file.shown_size = size;
	node->file.mode = 0600;
	if (source) {
		const struct manifest_meta *meta = version_meta(source);

		node->file.version = version_get(source);
		node->file.ino = rendering_ino(meta->ino);
		node->file.mtime.tv_sec = meta->mtime_sec;
		node->file.mtime.tv_nsec = meta->mtime_nsec;
		node->file.ctime = version_changed(source);
	}
	tree_lock(&m->tree);
	tree_attach(&m->tree, node);
	tree_unlock(&m->tree);
	*out = node;
	return 0;
}

static bool sees_ghost(struct mount *m, struct node *directory,
		       struct caller *caller)
{
	struct process process;
	bool ghost;

	tree_lock(&m->tree);
	ghost = directory->directory.ghost;
	tree_unlock(&m->tree);
	if (!ghost)
		return false;
	process = caller_process(caller);
	return insider_sees(m, directory, &process, SEES_RENDERING);
}

static bool is_copier(struct mount *m, struct node *directory,
		      struct caller *caller)
{
	struct process copier;
	struct process process;

	tree_lock(&m->tree);
	copier = directory->directory.copier;
	tree_unlock(&m->tree);
	if (!copier.id)
		return false;
	process = caller_process(caller);
	return process_equal(&copier, &process);
}

static void set_copier(struct mount *m, struct node *directory,
		       const struct process *copier)
{
	tree_lock(&m->tree);
	directory->directory.copier = *copier;
	tree_unlock(&m->tree);
}

void rendering_hide(struct mount *m, struct node *directory,
		    struct caller *caller)
{
	struct process process = caller_process(caller);

	set_copier(m, directory, &process);
}

int rendering_lookup(struct mount *m, struct node *directory,
		     struct caller *caller, struct node **out)
{
	struct version *source = NULL;
	int err = rendering_shown(m, directory, &source);

	if (err == -ENOENT && sees_ghost(m, directory, caller))
		return new_node(m, directory, NULL, out);
	if (err)
		return err;
	if (is_copier(m, directory, caller))
		err = -ENOENT;
	if (!err)
		*out = cached_node(m, directory);
	if (!err && !*out)
		err = new_node(m, directory, source, out);
	version_put(source);
	return err;
}

/* With node.lock held. */
static int need_text(struct mount *m, struct node_file *file)
{
	struct writer text = writer_upto(READABLE_MAX);
	int err;

	if (file->text)
		return 0;
	err = rendering_make(m, file->version, &text);
	if (!err)
		file->text = writer_take(&text, &file->text_size);
	writer_free(&text);
	return err;
}

int rendering_open(struct mount *m, struct node *node, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct node_file *file = &node->file;
	int err = dir.fd < 0 ? dir.fd : -ENOENT;

	if (dir.fd >= 0 && file->version)
		err = version_verify(m->store, file->version, dir.fd,
				     RENDERING_SOURCE);
	if (err)
		return err;
	pthread_mutex_lock(&node->lock);
	err = need_text(m, file);
	if (!err)
		file->handles++;
	pthread_mutex_unlock(&node->lock);
	return err;
}

void rendering_close(struct node *node)
{
	struct node_file *file = &node->file;

	pthread_mutex_lock(&node->lock);
	if (--file->handles == 0) {
		free(file->text);
		file->text = NULL;
	}
	pthread_mutex_unlock(&node->lock);
}

ssize_t rendering_read(struct node *node, uint64_t offset, void *bytes,
		       size_t size)
{
	const struct node_file *file = &node->file;
	size_t left;

	if (offset >= file->text_size)
		return 0;
	left = file->text_size - (size_t)offset;
	if (size > left)
		size = left;
	memcpy(bytes, file->text + offset, size);
	return (ssize_t)size;
}

static void set_hidden(struct mount *m, struct node *directory,
		       struct version *v, bool ghost)
{
	struct version *old;

	tree_lock(&m->tree);
	old = directory->directory.hidden;
	directory->directory.hidden = v;
	directory->directory.ghost = ghost;
	tree_unlock(&m->tree);
	version_put(old);
}

int rendering_unlink(struct mount *m, struct node *directory)
{
	struct version *source = NULL;
	int err = rendering_source(m, directory, &source);

	if (err && err != -ENOENT)
		return err;
	set_hidden(m, directory, source, false);
	return 0;
}

/*
 * A file of that name that somebody stored before is hidden from now on, and
 * must not come back when this compiled_module is removed.
 */
void rendering_published(struct mount *m, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	struct node *stored =
		tree_hold(&m->tree, directory, RENDERING_NAME, NODE_FILE);

	if (stored)
		commit_abandon(m, stored, NULL);
	node_drop(&m->tree, stored);
	set_hidden(m, directory, NULL, false);
	unlinkat(dir.fd, RENDERING_NAME, 0);
	hides_take(m, directory, RENDERING_NAME);
}

void rendering_forget(struct mount *m, struct node *directory)
{
	tree_lock(&m->tree);
	directory->directory.ghost = false;
	tree_unlock(&m->tree);
}

void rendering_orphaned(struct mount *m, struct node *directory)
{
	bool hidden;

	tree_lock(&m->tree);
	hidden = directory->directory.hidden;
	tree_unlock(&m->tree);
	set_hidden(m, directory, NULL, !hidden);
}

int rendering_accept(struct mount *m, struct node *directory,
		     const struct scratch_view *view)
{
	struct writer text = writer_upto(READABLE_MAX);
	struct version *source = NULL;
	int err = rendering_source(m, directory, &source);

	if (err)
		return err;
	err = rendering_make(m, source, &text);
	if (!err && (text.size != view->size ||
		     memcmp(text.bytes, view->bytes, view->size) != 0))
		err = -EROFS;
	if (!err) {
		set_hidden(m, directory, NULL, false);
		set_copier(m, directory, &(struct process){ 0 });
	}
	version_put(source);
	writer_free(&text);
	return err;
}
