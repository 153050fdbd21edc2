/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/rename.h"

#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <unistd.h>

#include "compiler/artifact.h"
#include "fs/mount/commit.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/exchange.h"
#include "fs/mount/file.h"
#include "fs/mount/lookup.h"
#include "fs/mount/names.h"
#include "fs/mount/private.h"
#include "fs/mount/removal.h"
#include "fs/mount/rendering.h"
#include "fs/store/fresh.h"
#include "fs/store/publish.h"

/* A rename under way: both ends, and what they showed before. */
struct renaming {
	struct mount *m;
	struct rename_end from;
	struct rename_end to;
	unsigned flags;
	struct caller *caller;
	struct node *node;     /* held */
	struct node *replaced; /* held, or NULL */
};

static int rename_stored(const struct renaming *r)
{
	AUTO_DIR struct dir_use from =
		dir_begin(&r->m->tree, r->from.directory);
	AUTO_DIR struct dir_use to = dir_begin(&r->m->tree, r->to.directory);

	if (from.fd < 0 || to.fd < 0)
		return from.fd < 0 ? from.fd : to.fd;
	return store_rename(r->m->store, from.fd, r->from.name, to.fd,
			    r->to.name, r->flags);
}

static bool has_writing(const struct node *node)
{
	return node && (node->kind == NODE_FILE || node->kind == NODE_PRIVATE);
}

static int move_node(const struct renaming *r)
{
	int err;

	tree_lock(&r->m->tree);
	if (r->replaced) {
		if (has_writing(r->replaced))
			r->replaced->file.abandoned = true;
		tree_detach(&r->m->tree, r->replaced);
	}
	err = tree_move(&r->m->tree, r->node, r->to.directory, r->to.name);
	tree_unlock(&r->m->tree);
	return err;
}

bool rename_needs_judging(struct node *node, const char *name)
{
	enum artifact_kind kind = artifact_kind_of(name);
	struct version *v = file_version(node);
	bool needs = kind != ARTIFACT_NONE &&
		     (!v || version_meta(v)->kind != (uint8_t)kind);

	version_put(v);
	return needs;
}

/* Unless somebody has published there since. */
static int unlink_renamed(const struct renaming *r)
{
	AUTO_DIR struct dir_use dir = dir_begin(&r->m->tree, r->from.directory);
	struct version *v;
	int err;

	if (dir.fd < 0)
		return dir.fd;
	v = file_version(r->node);
	fresh_names(r->m->store, dir.fd);
	store_names_lock(r->m->store);
	err = version_look(v, dir.fd, r->from.name);
	if (err == -EAGAIN && version_is_shown(v, dir.fd, r->from.name))
		err = 0;
	if (!err && unlinkat(dir.fd, r->from.name, 0) < 0)
		err = -errno;
	store_names_unlock(r->m->store);
	version_put(v);
	return err == -EAGAIN ? 0 : err;
}

static int rename_judged(const struct renaming *r)
{
	struct version *v = NULL;
	int err = commit_as(r->m, r->node, r->to.directory, r->to.name,
			    r->flags & RENAME_NOREPLACE, &v);

	if (err)
		return err;
	version_put(v);
	return unlink_renamed(r);
}

static void note_names(const struct renaming *r)
{
	struct process process = caller_process(r->caller);

	insider_add(r->m, r->from.directory, &process, SEES_ALL);
	insider_add(r->m, r->to.directory, &process, SEES_ALL);
	if (artifact_kind_of(r->from.name) == ARTIFACT_COMPILED_MODULE)
		rendering_orphaned(r->m, r->from.directory);
	if (artifact_kind_of(r->to.name) == ARTIFACT_COMPILED_MODULE)
		rendering_published(r->m, r->to.directory);
}

/*
 * Who goes on writing to an artifact does so privately: from then on the node
 * is its writers' alone, and its name shows what was renamed by another node.
 */
static bool is_split(struct node *node)
{
	bool written;

	pthread_mutex_lock(&node->lock);
	written = node->file.writers > 0;
	pthread_mutex_unlock(&node->lock);
	return written && artifact_kind_of(node->name) != ARTIFACT_NONE;
}

void rename_reload(struct mount *m, struct node *node)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, node->parent);
	struct version *v = NULL;
	int err = dir.fd < 0 ? dir.fd
			     : version_load(m->store, dir.fd, node->name, &v);
	bool adopted = !err && !is_split(node) && file_adopt(node, v);

	version_put(v);
	if (adopted)
		return;
	tree_lock(&m->tree);
	tree_detach(&m->tree, node);
	tree_unlock(&m->tree);
}

/* What is replaced is lost only for what replaces it. */
static int settle(const struct renaming *r)
{
	AUTO_DIR struct dir_use dir = dir_begin(&r->m->tree, r->from.directory);

	if (!has_writing(r->replaced) || file_is_empty(r->replaced))
		return 0;
	return dir.fd < 0 ? dir.fd
			  : store_settle(r->m->store, dir.fd, r->from.name);
}

static int rename_published(const struct renaming *r)
{
	int err;

	if (rename_needs_judging(r->node, r->to.name))
		return rename_judged(r);
	err = settle(r);
	return err ? err : rename_stored(r);
}

/* With node.writing of both held alone. */
static int rename_file(const struct renaming *r)
{
	int err = commit_locked(r->m, r->node, false);

	if (err)
		return err;
	file_set_publishing(r->m, r->node, true);
	err = rename_published(r);
	if (!err)
		err = move_node(r);
	if (!err)
		rename_reload(r->m, r->node);
	file_set_publishing(r->m, r->node, false);
	if (!err)
		note_names(r);
	return err;
}

/* What is not published yet only gets another place to be published at. */
static int rename_private(const struct renaming *r)
{
	int err;

	err = move_node(r);
	if (err)
		return err;
	pthread_mutex_lock(&r->node->lock);
	r->node->file.dirty = true;
	pthread_mutex_unlock(&r->node->lock);
	err = removal_of_file(r->m, r->from.directory, r->from.name);
	if (err && err != -ENOENT)
		return err;
	return commit_unopened(r->m, r->node);
}

/* By address, so that two renames never wait for each other. */
static void lock_both(const struct renaming *r)
{
	struct node *first = r->node;
	struct node *second = has_writing(r->replaced) ? r->replaced : NULL;

	if (second && (uintptr_t)second < (uintptr_t)first) {
		first = second;
		second = r->node;
	}
	pthread_rwlock_wrlock(&first->writing);
	if (second)
		pthread_rwlock_wrlock(&second->writing);
}

static void unlock_both(const struct renaming *r)
{
	if (has_writing(r->replaced))
		pthread_rwlock_unlock(&r->replaced->writing);
	pthread_rwlock_unlock(&r->node->writing);
}

static int rename_other(const struct renaming *r)
{
	int err = rename_stored(r);

	/* What is only hidden stays in the store, and in the way. */
	if (err == -ENOTEMPTY && !r->m->hides.used && r->replaced &&
	    r->replaced->kind == NODE_DIRECTORY) {
		err = name_rmdir(r->m, r->to.directory, r->to.name, r->caller);
		if (!err)
			err = rename_stored(r);
	}
	return err ? err : move_node(r);
}

/* Over a readable.py goes only what it says anyway; it stays what it is. */
static int rename_over_rendering(const struct renaming *r)
{
	struct scratch_view view;
	struct scratch *copy = NULL;
	struct version *v;
	int err = commit_locked(r->m, r->node, false);

	if (err)
		return err;
	v = file_version(r->node);
	if (!v)
		return -EROFS;
	err = scratch_copy(&r->m->scratches, v, &copy);
	version_put(v);
	if (err)
		return err;
	err = scratch_map(copy, &view);
	if (!err) {
		err = rendering_accept(r->m, r->to.directory, &view);
		scratch_unmap(&view);
	}
	scratch_free(copy);
	return err;
}

static int rename_onto_rendering(const struct renaming *r)
{
	int err;

	pthread_rwlock_wrlock(&r->node->writing);
	err = rename_over_rendering(r);
	pthread_rwlock_unlock(&r->node->writing);
	return err ? err
		   : name_unlink(r->m, r->from.directory, r->from.name,
				 r->caller);
}

static int rename_found(const struct renaming *r)
{
	int err;

	if (r->replaced && (r->flags & RENAME_NOREPLACE))
		return -EEXIST;
	if (r->node->kind == NODE_READABLE)
		return -EXDEV;
	if (r->replaced && r->replaced->kind == NODE_READABLE)
		return has_writing(r->node) ? rename_onto_rendering(r) : -EROFS;
	if (!has_writing(r->node))
		return rename_other(r);
	if (r->replaced && r->replaced->kind == NODE_DIRECTORY)
		return -EISDIR;
	lock_both(r);
	err = r->node->kind == NODE_FILE ? rename_file(r) : rename_private(r);
	unlock_both(r);
	return err;
}

/* What is only hidden at the new name does not count, and ends with this. */
static int rename_shown(struct renaming *r)
{
	int err;

	if (hides_has(r->m, r->to.directory, r->to.name))
		r->flags &= ~(unsigned)RENAME_NOREPLACE;
	err = rename_found(r);
	if (!err && r->node->kind != NODE_PRIVATE)
		hides_take(r->m, r->to.directory, r->to.name);
	return err;
}

int name_rename(struct mount *m, const struct rename_end *from,
		const struct rename_end *to, unsigned flags,
		struct caller *caller)
{
	struct renaming r = { m, *from, *to, flags, caller, NULL, NULL };
	struct found found;
	int err;

	if (m->read_only)
		return -EROFS;
	if (flags == RENAME_EXCHANGE)
		return name_exchange(m, from, to, caller);
	if (flags & ~(unsigned)RENAME_NOREPLACE)
		return -EINVAL;
	if (control_has(m, from->directory, from->name) ||
	    control_has(m, to->directory, to->name))
		return -EROFS;
	err = lookup_name(m, from->directory, from->name, caller, &found);
	if (err)
		return err;
	r.node = found.node;
	err = lookup_name(m, to->directory, to->name, caller, &found);
	if (!err)
		r.replaced = found.node;
	if (!err && r.replaced == r.node)
		err = 0;
	else if (!err || err == -ENOENT)
		err = rename_shown(&r);
	node_drop(&m->tree, r.node);
	node_drop(&m->tree, r.replaced);
	return err;
}
