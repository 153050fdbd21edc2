/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/lookup.h"

#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/private.h"
#include "fs/mount/rendering.h"
#include "fs/mount/use.h"
#include "fs/own.h"
#include "fs/store/counters.h"
#include "fs/store/fresh.h"

enum {
	STAT_BLOCK = 512,
	IO_SIZE = 1024 * 1024 /* st_blksize */
};

/* With the tree's lock held: the node of that directory, held; or NULL. */
static struct node *find_directory(struct mount *m, struct node *directory,
				   const char *name,
				   const struct fd_identity *identity)
{
	struct node *node = tree_find(&m->tree, directory, name);

	if (!node || node->kind != NODE_DIRECTORY ||
	    !fd_is_same(&node->directory.identity, identity))
		return NULL;
	return node_hold(node);
}

static int lookup_directory(struct mount *m, int dir, struct node *directory,
			    const char *name, struct node **out)
{
	AUTO_CLOSE int fd =
		fd_open(dir, name, O_PATH | O_DIRECTORY | O_NOFOLLOW, 0);
	struct fd_identity identity;
	struct node *node;
	struct node *known;
	int err = fd < 0 ? -errno : fd_identify(fd, &identity);

	if (err)
		return err;
	node = node_new(&m->tree, NODE_DIRECTORY, directory, name);
	if (!node)
		return -ENOMEM;
	node->directory.identity = identity;
	tree_lock(&m->tree);
	known = find_directory(m, directory, name, &identity);
	if (!known) {
		tree_attach(&m->tree, node);
		dir_adopt(&m->tree, node, take_fd(&fd));
	}
	tree_unlock(&m->tree);
	if (known)
		node_drop(&m->tree, node);
	*out = known ? known : node;
	return 0;
}

/*
 * The same node for the same inode, whatever its times: the kernel may still
 * use it, and it must know its place when it is renamed.
 */
static struct node *find_symlink(struct mount *m, struct node *directory,
				 const char *name, const struct stat *st)
{
	struct node *node;

	tree_lock(&m->tree);
	node = tree_find(&m->tree, directory, name);
	if (node && node->kind == NODE_SYMLINK &&
	    node->symlink.st_ino == st->st_ino) {
		node_hold(node);
		node->symlink = *st;
	} else {
		node = NULL;
	}
	tree_unlock(&m->tree);
	return node;
}

static int lookup_symlink(struct mount *m, struct node *directory,
			  const char *name, const struct stat *st,
			  struct node **out)
{
	struct node *node = find_symlink(m, directory, name, st);

	if (node) {
		*out = node;
		return 0;
	}
	node = node_new(&m->tree, NODE_SYMLINK, directory, name);
	if (!node)
		return -ENOMEM;
	node->symlink = *st;
	tree_lock(&m->tree);
	tree_attach(&m->tree, node);
	tree_unlock(&m->tree);
	*out = node;
	return 0;
}

/* Whether a cached file node shows what its name shows in the store. */
static bool is_fresh(struct mount *m, struct node *node, int dir,
		     const char *name)
{
	struct version *v;
	bool publishing;
	bool fresh;

	tree_lock(&m->tree);
	publishing = node->file.publishing;
	tree_unlock(&m->tree);
	if (publishing || file_is_worked_on(node))
		return true;
	v = file_version(node);
	fresh = v && version_is_current(v, dir, name);
	version_put(v);
	return fresh;
}

static int lookup_file(struct mount *m, int dir, struct node *directory,
		       const char *name, struct node **out)
{
	struct node *node = tree_hold(&m->tree, directory, name, NODE_FILE);
	struct version *v = NULL;
	int err;

	if (node && is_fresh(m, node, dir, name)) {
		*out = node;
		return 0;
	}
	err = version_load(m->store, dir, name, &v);
	if (!err && node && file_adopt_found(node, v)) {
		version_put(v);
		*out = node;
		return 0;
	}
	node_drop(&m->tree, node);
	if (err)
		return err;
	*out = file_node(m, directory, name, v);
	version_put(v);
	return *out ? 0 : -ENOMEM;
}

bool lookup_bars(const struct mount *m, const char *name,
		 const struct version *v)
{
	enum artifact_kind kind = artifact_kind_of(name);

	return m->strict && kind != ARTIFACT_NONE &&
	       (version_meta(v)->kind != kind ||
		version_meta(v)->verdict != VERDICT_SOUND);
}

int lookup_named(struct mount *m, struct node *directory, const char *name,
		 struct version **named)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	int err = dir.fd < 0 ? dir.fd
		  : hides_has(m, directory, name)
			  ? -ENOENT
			  : version_load(m->store, dir.fd, name, named);

	if (err == -ELOOP)
		return 0;
	if (!err && lookup_bars(m, name, *named)) {
		version_put(*named);
		*named = NULL;
		return -ENOENT;
	}
	return err == -EISDIR || err == -ENXIO ? -ENOENT : err;
}

static bool is_whole(struct mount *m, struct node *directory,
		     const struct version *v)
{
	const char *const *names;
	size_t count;

	names = version_names(v, &count);
	for (size_t i = 0; i < count; i++) {
		struct version *named = NULL;
		int err = lookup_named(m, directory, names[i], &named);

		version_put(named);
		if (err == -ENOENT)
			return false;
	}
	return true;
}

/* An .idx without its files would make every load of the model fail. */
static bool is_dangling(struct mount *m, struct node *directory,
			struct node *node, struct caller *caller)
{
	struct version *v = file_version(node);
	struct process process;
	bool whole = !v || is_whole(m, directory, v);

	version_put(v);
	if (whole)
		return false;
	process = caller_process(caller);
	return !insider_sees(m, directory, &process, SEES_INDEX);
}

static int lookup_stored(struct mount *m, struct node *directory, int dir,
			 const char *name, struct caller *caller,
			 struct found *found)
{
	struct stat st;
	int err;

	if (hides_has(m, directory, name))
		return -ENOENT;
	/* Stale is the directory, when another host has removed it. */
	if (fd_stat_at(dir, name, &st) < 0)
		return errno == ESTALE ? -ENOENT : -errno;
	if (S_ISDIR(st.st_mode)) {
		found->timeout = TIMEOUT_NONE;
		return lookup_directory(m, dir, directory, name, &found->node);
	}
	if (S_ISLNK(st.st_mode) && !store_trusts(m->store, st.st_uid))
		return -ENOENT;
	if (S_ISLNK(st.st_mode))
		return lookup_symlink(m, directory, name, &st, &found->node);
	err = lookup_file(m, dir, directory, name, &found->node);
	if (err || artifact_kind_of(name) != ARTIFACT_INDEX)
		return err;
	found->timeout = TIMEOUT_NONE;
	if (!is_dangling(m, directory, found->node, caller))
		return 0;
	node_drop(&m->tree, found->node);
	return -ENOENT;
}

static int verify_in(struct mount *m, struct version *v, struct node *directory,
		     const char *name)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);

	return dir.fd < 0 ? dir.fd : version_verify(m->store, v, dir.fd, name);
}

int lookup_private(struct mount *m, struct node *directory, const char *name,
		   struct caller *caller, struct found *found)
{
	bool copies = found->node->kind == NODE_FILE;
	struct version *v = copies ? file_version(found->node) : NULL;
	struct node *private = NULL;
	int err = v ? verify_in(m, v, directory, name) : 0;

	if (!err)
		err = private_begin(m, directory, name, v, 0600, caller,
				    &private);
	version_put(v);
	if (err)
		return err;
	node_drop(&m->tree, found->node);
	*found = (struct found){ private, TIMEOUT_NONE };
	return 0;
}

/* Whether a writer was sent to look for a private version of what was found. */
static bool is_awaited(struct mount *m, const char *name,
		       const struct caller *caller, const struct found *found)
{
	if (found->node->kind != NODE_READABLE &&
	    (found->node->kind != NODE_FILE ||
	     artifact_kind_of(name) == ARTIFACT_NONE))
		return false;
	return retry_writes(m, caller->thread, name);
}

static int lookup_shared(struct mount *m, struct node *directory,
			 const char *name, struct caller *caller,
			 struct found *found)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	int err = -ENOENT;

	if (dir.fd < 0)
		return dir.fd == -ESTALE ? -ENOENT : dir.fd;
	fresh_names(m->store, dir.fd);
	if (rendering_is_name(name))
		err = rendering_lookup(m, directory, caller, &found->node);
	if (err == -ENOENT)
		err = lookup_stored(m, directory, dir.fd, name, caller, found);
	if (err || !found->node || !is_awaited(m, name, caller, found))
		return err;
	err = lookup_private(m, directory, name, caller, found);
	if (err)
		node_drop(&m->tree, found->node);
	return err;
}

int lookup_name(struct mount *m, struct node *directory, const char *name,
		struct caller *caller, struct found *found)
{
	bool contested = false;

	*found = (struct found){ .timeout = TIMEOUT_KEPT };
	if (control_has(m, directory, name))
		return control_lookup(m, directory, name, &found->node);
	found->node = private_find(m, directory, name, caller, &contested);
	if (contested || rendering_is_name(name))
		found->timeout = TIMEOUT_NONE;
	if (found->node)
		return 0;
	return lookup_shared(m, directory, name, caller, found);
}

int lookup_asked(struct mount *m, struct node *directory, const char *name,
		 struct caller *caller, struct found *found)
{
	int err = lookup_name(m, directory, name, caller, found);

	if (err == -ENOENT && artifact_kind_of(name) != ARTIFACT_NONE)
		store_count(m->store, COUNTER_MISSES, 1);
	return err;
}

static int stat_directory(struct mount *m, struct node *node, struct stat *st)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, node);

	if (dir.fd < 0)
		return dir.fd;
	if (fd_stat(dir.fd, st) < 0)
		return -errno;
	use_hide(m, node, st);
	return 0;
}

static int stat_file(struct mount *m, struct node *node, struct stat *st)
{
	uint64_t size = node->file.shown_size;
	uint64_t stored = size; /* of a rendering: tar -S takes 0 for a hole */
	int err = 0;

	if (node->kind != NODE_READABLE)
		err = file_measure(node, &size, &stored);
	if (err)
		return err;
	pthread_mutex_lock(&node->lock);
	st->st_ino = node->file.ino;
	st->st_mode = S_IFREG | node->file.mode;
	st->st_mtim = node->file.mtime;
	st->st_atim =
		node->file.has_atime ? node->file.atime : node->file.mtime;
	st->st_ctim = node->file.ctime;
	pthread_mutex_unlock(&node->lock);
	/* An older version is not: no link to the file was removed. */
	st->st_nlink = file_is_abandoned(m, node) ? 0 : 1;
	st->st_size = (off_t)size;
	st->st_blocks = (blkcnt_t)((stored + STAT_BLOCK - 1) / STAT_BLOCK);
	return 0;
}

int node_stat(struct mount *m, struct node *node, struct stat *st)
{
	int err = 0;

	memset(st, 0, sizeof(*st));
	switch (node->kind) {
	case NODE_DIRECTORY:
		err = stat_directory(m, node, st);
		break;
	case NODE_SYMLINK:
		tree_lock(&m->tree);
		*st = node->symlink;
		tree_unlock(&m->tree);
		break;
	case NODE_CONTROL:
		control_stat(m, st);
		break;
	case NODE_REPORT:
	case NODE_FILE:
	case NODE_PRIVATE:
	case NODE_READABLE:
		err = stat_file(m, node, st);
		break;
	}
	st->st_uid = m->uid;
	st->st_gid = m->gid;
	st->st_blksize = IO_SIZE;
	return err;
}
