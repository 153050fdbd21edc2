/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/open.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "compiler/artifact.h"
#include "fs/mount/commit.h"
#include "fs/mount/control.h"
#include "fs/mount/create.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/lookup.h"
#include "fs/mount/private.h"
#include "fs/mount/removal.h"
#include "fs/mount/rendering.h"
#include "fs/mount/trouble.h"
#include "fs/mount/use.h"
#include "fs/own.h"
#include "fs/store/counters.h"
#include "fs/store/fresh.h"
#include "fs/store/publish.h"

enum { CREATE_ATTEMPTS = 8 };

static bool flags_write(int flags)
{
	return (flags & O_ACCMODE) != O_RDONLY || (flags & O_TRUNC);
}

/* With the tree's lock held. */
static void enlist(struct mount *m, struct handle *h)
{
	h->older = m->newest;
	if (h->older)
		h->older->newer = h;
	m->newest = h;
}

/* With the tree's lock held. */
static void delist(struct mount *m, struct handle *h)
{
	if (h->newer)
		h->newer->older = h->older;
	else
		m->newest = h->older;
	if (h->older)
		h->older->newer = h->newer;
}

/* A handle on a file node, which is held and counted from now on. */
static int new_handle(struct mount *m, struct node *node, int flags,
		      struct caller *caller, struct handle **out)
{
	struct handle *h = calloc(1, sizeof(*h));

	if (!h)
		return -ENOMEM;
	h->writes = flags_write(flags);
	h->appends = flags & O_APPEND;
	if (h->writes)
		h->opener = caller_process(caller);
	tree_lock(&m->tree);
	h->node = node_hold(node);
	if (node->kind != NODE_REPORT && node->parent)
		h->place = node_hold(node->parent);
	enlist(m, h);
	tree_unlock(&m->tree);
	if (node->kind != NODE_READABLE) {
		pthread_mutex_lock(&node->lock);
		node->file.handles++;
		node->file.writers += h->writes;
		node->file.flush_by_killed = false;
		pthread_mutex_unlock(&node->lock);
	}
	use_begin(m, h->place);
	*out = h;
	return 0;
}

static int open_worked_on(struct mount *m, struct node *node, int flags,
			  struct caller *caller, struct handle **out)
{
	struct handle *h;
	int err = new_handle(m, node, flags, caller, &h);

	if (!err && (flags & O_TRUNC)) {
		err = file_resize(m, node, 0);
		if (err)
			handle_release(m, h);
	}
	if (!err)
		*out = h;
	return err;
}

static bool has_private(struct mount *m, const struct place *place,
			struct caller *caller)
{
	bool contested;
	struct node *own =
		private_find(m, place->parent, place->name, caller, &contested);

	node_drop(&m->tree, own);
	return own;
}

/* Everything that an .idx names must be whole, too, before it is read. */
static int verify_named(struct mount *m, const struct place *place,
			const struct version *v)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	size_t count;
	const char *const *names = version_names(v, &count);
	int err = dir.fd < 0 ? dir.fd : 0;

	for (size_t i = 0; i < count && !err; i++) {
		struct version *named = NULL;

		err = lookup_named(m, place->parent, names[i], &named);
		if (!err && named)
			err = version_verify(m->store, named, dir.fd, names[i]);
		version_put(named);
	}
	return err;
}

static int bar(struct mount *m, const struct place *place)
{
	char path[TROUBLE_PATH_MAX];

	log_event(m->log, LOG_LEVEL_WARNING,
		  "not served \"%s\": it is foreign, and the mount strict",
		  trouble_path(m, place->parent, place->name, path));
	return -EACCES;
}

/* *held is to be let go, and put. */
static int verify(struct mount *m, struct node *node, const struct place *place,
		  struct version **held)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	struct version *v;
	int err;

	if (dir.fd < 0)
		return dir.fd;
	v = file_version(node);
	if (!v)
		return -ENOENT;
	err = lookup_bars(m, place->name, v)
		      ? bar(m, place)
		      : version_verify(m->store, v, dir.fd, place->name);
	if (!err && artifact_kind_of(place->name) == ARTIFACT_INDEX)
		err = verify_named(m, place, v);
	if (!err)
		err = version_hold(m->store, v);
	if (err)
		version_put(v);
	else
		*held = v;
	return err;
}

static void drop_held(struct mount *m, struct version *held)
{
	if (!held)
		return;
	version_let_go(m->store, held);
	version_put(held);
}

static bool is_current(struct mount *m, struct node *node,
		       const struct place *place)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	struct version *v = file_version(node);
	bool current =
		v && dir.fd >= 0 && version_is_current(v, dir.fd, place->name);

	version_put(v);
	return current;
}

/*
 * Opens what is published. The first answer to a stale or damaged version is
 * ESTALE; the repeated open gets what its own lookup has just found, even if
 * that is not the newest any more.
 */
static int open_published(struct mount *m, struct node *node, int flags,
			  const struct place *place, bool repeated,
			  struct caller *caller, struct handle **out)
{
	struct version *held = NULL;
	int err = 0;

	if (!tree_is_attached(&m->tree, node) || !file_is_worked_on(node)) {
		if (!repeated && !is_current(m, node, place))
			err = -ESTALE;
		else
			err = verify(m, node, place, &held);
	}
	if (!repeated && (err == -ENOENT || err == -ESTALE))
		return retry_ask(m, caller->thread, place->name, node, false);
	err = trouble_miss(m, node, err);
	if (!err)
		err = open_worked_on(m, node, flags, caller, out);
	if (err)
		drop_held(m, held);
	else
		(*out)->held = held;
	return err;
}

static bool is_shown(struct mount *m, const struct node *node,
		     const struct place *place)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	const struct version *source = node->file.version;

	return source && dir.fd >= 0 &&
	       version_is_current(source, dir.fd, RENDERING_SOURCE);
}

static int open_rendering(struct mount *m, struct node *node, int flags,
			  const struct place *place, bool repeated,
			  struct caller *caller, struct handle **out)
{
	int err = 0;

	if (!node->file.version)
		rendering_forget(m, place->parent);
	if (!repeated && !is_shown(m, node, place))
		err = -ENOENT;
	else
		err = rendering_open(m, node, place->parent);
	if (err == -ENOENT && !repeated)
		return retry_ask(m, caller->thread, place->name, node, false);
	if (err)
		return err;
	err = new_handle(m, node, flags, caller, out);
	if (err)
		rendering_close(node);
	return err;
}

static void fresh_in(struct mount *m, struct node *directory)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	fresh_names(m->store, dir.fd);
}

/*
 * What is published does not change: a writer's walk is sent to find a private
 * version. A writer without a path cannot be sent anywhere.
 */
static int open_shared(struct mount *m, struct node *node, int flags,
		       const struct place *place, struct caller *caller,
		       struct handle **out)
{
	enum retried retried = retry_take(m, caller->thread, place->name, node);
	bool repeated = retried != RETRIED_NOT;
	bool apart = node->kind == NODE_READABLE ||
		     artifact_kind_of(place->name) != ARTIFACT_NONE;

	fresh_in(m, place->parent);
	if (flags_write(flags) && apart)
		return retried == RETRIED_SAME
			       ? -ETXTBSY
			       : retry_ask(m, caller->thread, place->name, node,
					   true);
	if (!repeated && has_private(m, place, caller))
		return retry_ask(m, caller->thread, place->name, node, false);
	if (node->kind == NODE_READABLE)
		return open_rendering(m, node, flags, place, repeated, caller,
				      out);
	return open_published(m, node, flags, place, repeated, caller, out);
}

/* What is told is made now, and stays the same while it is open. */
static int open_report(struct mount *m, struct node *node, int flags,
		       struct caller *caller, struct handle **out)
{
	AUTO_FREE char *text = NULL;
	int err = flags_write(flags) ? -EROFS : control_text(m, node, &text);

	if (!err)
		err = new_handle(m, node, flags, caller, out);
	if (!err)
		(*out)->text = take_memory((void **)&text);
	return err;
}

static void count_open(struct mount *m, const struct node *node,
		       const char *name, int flags, int err)
{
	if (node->kind != NODE_FILE || flags_write(flags) ||
	    artifact_kind_of(name) == ARTIFACT_NONE)
		return;
	if (!err)
		store_count(m->store, COUNTER_HITS, 1);
	else if (err == -ENOENT)
		store_count(m->store, COUNTER_MISSES, 1);
}

int handle_open(struct mount *m, struct node *node, int flags,
		struct caller *caller, struct handle **out)
{
	struct place place = { 0 };
	int err;

	if (m->read_only && flags_write(flags))
		return -EROFS;
	if (node->kind == NODE_REPORT)
		return open_report(m, node, flags, caller, out);
	err = node_place(&m->tree, node, &place);
	if (err)
		return err;
	if (node->kind == NODE_PRIVATE) {
		retry_take(m, caller->thread, place.name, node);
		err = open_worked_on(m, node, flags, caller, out);
	} else {
		err = open_shared(m, node, flags, &place, caller, out);
		if (!err && !flags_write(flags))
			use_note(m, place.parent);
		count_open(m, node, place.name, flags, err);
	}
	place_free(&m->tree, &place);
	return err;
}

/* What the caller meant to create is there by now, and that will do. */
static int open_existing(struct mount *m, struct node *directory,
			 const char *name, int flags, struct caller *caller,
			 struct found *found, struct handle **out)
{
	int err = lookup_name(m, directory, name, caller, found);

	if (err)
		return err;
	if (found->node->kind == NODE_DIRECTORY)
		err = -EISDIR;
	else if (found->node->kind == NODE_SYMLINK)
		err = -ESTALE;
	else if (found->node->kind == NODE_READABLE ||
		 (found->node->kind == NODE_FILE && flags_write(flags) &&
		  artifact_kind_of(name) != ARTIFACT_NONE))
		err = lookup_private(m, directory, name, caller, found);
	if (!err)
		err = open_worked_on(m, found->node, flags, caller, out);
	if (err)
		node_drop(&m->tree, found->node);
	return err;
}

static int create_new(struct mount *m, struct node *directory, const char *name,
		      mode_t mode, int flags, struct caller *caller,
		      struct found *found, struct handle **out)
{
	int err = node_create(m, directory, name, mode, caller, found);

	if (err)
		return err;
	retry_take(m, caller->thread, name, found->node);
	err = new_handle(m, found->node, flags, caller, out);
	if (err)
		node_drop(&m->tree, found->node);
	return err;
}

int handle_create(struct mount *m, struct node *directory, const char *name,
		  mode_t mode, int flags, struct caller *caller,
		  struct found *found, struct handle **out)
{
	int err = -ENOENT;

	/* Others may create and remove it meanwhile, but not for ever. */
	for (int i = 0; i < CREATE_ATTEMPTS && err == -ENOENT; i++) {
		err = create_new(m, directory, name, mode, flags, caller, found,
				 out);
		if (!err && (flags & O_EXCL) &&
		    strcmp(name, RENDERING_SOURCE) == 0)
			rendering_hide(m, directory, caller);
		if (err != -EEXIST || (flags & O_EXCL))
			return err;
		err = open_existing(m, directory, name, flags, caller, found,
				    out);
	}
	return err;
}

ssize_t handle_read(struct mount *m, struct handle *h, uint64_t offset,
		    void *bytes, size_t size)
{
	ssize_t count;

	if (h->text)
		return control_read(h->text, offset, bytes, size);
	if (h->node->kind == NODE_READABLE)
		count = rendering_read(h->node, offset, bytes, size);
	else
		count = file_read(m, h->node, offset, bytes, size);
	if (count > 0)
		store_count(m->store, COUNTER_OUT_BYTES, (uint64_t)count);
	return count;
}

int handle_write(struct mount *m, struct handle *h, uint64_t offset,
		 const void *bytes, size_t size, bool mapped)
{
	if (h->appends && !mapped)
		return file_append(m, h->node, bytes, size);
	return file_write(m, h->node, offset, bytes, size);
}

static void note_flush(struct node *node, bool killed)
{
	pthread_mutex_lock(&node->lock);
	node->file.flush_by_killed = killed;
	pthread_mutex_unlock(&node->lock);
}

int handle_flush(struct mount *m, struct handle *h, struct caller *caller)
{
	struct process closer;
	bool killed;

	if (!h->writes || !file_is_dirty(h->node))
		return 0;
	closer = caller_process(caller);
	killed = thread_was_killed(caller->thread);
	note_flush(h->node, killed);
	if (!process_equal(&closer, &h->opener))
		return 0;
	if (killed && h->node->kind == NODE_PRIVATE) {
		commit_abandon(m, h->node, "its writer was killed");
		return 0;
	}
	return commit(m, h->node, false);
}

int handle_sync(struct mount *m, struct handle *h)
{
	return h->node->kind == NODE_FILE ? commit_to_disk(m, h->node) : 0;
}

/* What a private version comes to when nobody has it open any more. */
static void settle_private(struct mount *m, struct node *node)
{
	struct node_file *file = &node->file;

	if (!tree_is_attached(&m->tree, node))
		return;
	if (file->flush_by_killed)
		commit_abandon(m, node, "its writer was killed");
	else if (file->dirty)
		commit_abandon(m, node, "publishing it failed");
	else if (!file->withheld)
		private_end(m, node);
	else if (!file->owner.id || !process_is_alive(&file->owner))
		commit_abandon(m, node, file->why);
	else
		private_keep(m, node);
}

static void release_file(struct mount *m, struct node *node, bool writes)
{
	bool last;
	bool killed;

	pthread_rwlock_wrlock(&node->writing);
	pthread_mutex_lock(&node->lock);
	node->file.writers -= writes;
	last = --node->file.handles == 0;
	killed = node->kind == NODE_PRIVATE && node->file.flush_by_killed;
	pthread_mutex_unlock(&node->lock);
	if (writes && !killed)
		commit_locked(m, node, false);
	if (last && node->kind == NODE_PRIVATE)
		settle_private(m, node);
	file_drop_work(node);
	pthread_rwlock_unlock(&node->writing);
}

void handle_release(struct mount *m, struct handle *h)
{
	tree_lock(&m->tree);
	delist(m, h);
	tree_unlock(&m->tree);
	if (h->node->kind == NODE_READABLE)
		rendering_close(h->node);
	else
		release_file(m, h->node, h->writes);
	drop_held(m, h->held);
	use_end(m, h->place);
	node_drop(&m->tree, h->place);
	node_drop(&m->tree, h->node);
	free(h->text);
	free(h);
}

/* The mount ends before the writer. */
static void tell_unclosed(struct mount *m, struct node *node)
{
	char path[TROUBLE_PATH_MAX];

	if (node->kind == NODE_PRIVATE)
		commit_abandon(m, node, "the mount ended before its writer");
	else
		log_event(
			m->log, LOG_LEVEL_WARNING,
			"\"%s\" is published as it is: the mount ended before "
			"its writer",
			trouble_path(m, node, NULL, path));
}

void handle_release_all(struct mount *m, bool closed)
{
	while (m->newest) {
		struct handle *h = m->newest;

		if (!closed && h->writes && file_is_dirty(h->node))
			tell_unclosed(m, h->node);
		handle_release(m, h);
	}
}
