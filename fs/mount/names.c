/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/names.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <string.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/mount/commit.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/private.h"
#include "fs/mount/removal.h"
#include "fs/mount/rendering.h"
#include "fs/own.h"

static bool is_directory(int dir, const char *name)
{
	struct stat st;

	return fd_stat_at(dir, name, &st) == 0 && S_ISDIR(st.st_mode);
}

/* A directory of the store that was only hidden is shown again. */
static int make_directory(struct mount *m, struct node *directory,
			  const char *name, mode_t mode)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	bool hidden;
	int err;

	if (dir.fd < 0)
		return dir.fd;
	hidden = hides_take(m, directory, name);
	if (hidden && is_directory(dir.fd, name))
		return 0;
	if (hidden)
		removal_of_hidden(m, directory, name);
	mode = store_dir_mode(m->store, mode & 07777);
	err = mkdirat(dir.fd, name, mode) < 0 ? -errno : 0;
	if (err && hidden)
		hides_add(m, directory, name);
	return err;
}

int name_mkdir(struct mount *m, struct node *directory, const char *name,
	       mode_t mode, struct caller *caller, struct found *found)
{
	int err = m->read_only || control_has(m, directory, name)
			  ? -EROFS
			  : make_directory(m, directory, name, mode);

	return err ? err : lookup_name(m, directory, name, caller, found);
}

static int make_symlink(struct mount *m, struct node *directory,
			const char *name, const char *target)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, directory);
	bool hidden;
	int err;

	if (dir.fd < 0)
		return dir.fd;
	hidden = hides_take(m, directory, name);
	if (hidden)
		removal_of_hidden(m, directory, name);
	err = symlinkat(target, dir.fd, name) < 0 ? -errno : 0;
	if (err && hidden)
		hides_add(m, directory, name);
	return err;
}

int name_symlink(struct mount *m, struct node *directory, const char *name,
		 const char *target, struct caller *caller, struct found *found)
{
	int err = m->read_only || control_has(m, directory, name)
			  ? -EROFS
			  : make_symlink(m, directory, name, target);

	return err ? err : lookup_name(m, directory, name, caller, found);
}

/* The symlink may be a stranger's by now. */
static ssize_t read_link(struct mount *m, const struct place *place, char *text)
{
	AUTO_DIR struct dir_use dir = dir_begin(&m->tree, place->parent);
	AUTO_CLOSE int fd = -1;
	struct stat st;
	ssize_t size;

	if (dir.fd < 0)
		return dir.fd;
	fd = fd_open(dir.fd, place->name, O_PATH | O_NOFOLLOW, 0);
	if (fd < 0 || fd_stat(fd, &st) < 0)
		return -errno;
	if (!S_ISLNK(st.st_mode) || !store_trusts(m->store, st.st_uid))
		return -ENOENT;
	size = readlinkat(fd, "", text, PATH_MAX);
	return size < 0 ? -errno : size;
}

int name_readlink(struct mount *m, struct node *node, char **target)
{
	AUTO_FREE char *text = malloc(PATH_MAX + 1);
	struct place place;
	ssize_t size;
	int err;

	if (!text)
		return -ENOMEM;
	err = node_place(&m->tree, node, &place);
	if (err)
		return err;
	size = read_link(m, &place, text);
	place_free(&m->tree, &place);
	if (size < 0)
		return (int)size;
	text[size] = '\0';
	*target = take_memory((void **)&text);
	return 0;
}

/* Waits for a publication of that name to end, and lets none follow. */
static int unlink_published(struct mount *m, struct node *directory,
			    const char *name)
{
	struct node *node = tree_hold(&m->tree, directory, name, NODE_FILE);
	int err;

	if (!node)
		return removal_of_file(m, directory, name);
	pthread_rwlock_wrlock(&node->writing);
	err = removal_of_file(m, directory, name);
	if (!err) {
		commit_abandon(m, node, NULL);
		tree_lock(&m->tree);
		tree_detach(&m->tree, node);
		tree_unlock(&m->tree);
	}
	pthread_rwlock_unlock(&node->writing);
	node_drop(&m->tree, node);
	return err;
}

static bool unlink_private(struct mount *m, struct node *directory,
			   const char *name, struct caller *caller)
{
	bool contested;
	struct node *node =
		private_find(m, directory, name, caller, &contested);

	if (!node)
		return false;
	pthread_rwlock_wrlock(&node->writing);
	commit_abandon(m, node, NULL);
	pthread_rwlock_unlock(&node->writing);
	node_drop(&m->tree, node);
	return true;
}

/* The virtual readable.py, and whatever somebody stored below it. */
static bool unlink_rendering(struct mount *m, struct node *directory,
			     struct caller *caller)
{
	struct node *node = NULL;

	if (rendering_lookup(m, directory, caller, &node) != 0)
		return false;
	node_drop(&m->tree, node);
	if (rendering_unlink(m, directory) != 0)
		return false;
	removal_of_file(m, directory, RENDERING_NAME);
	return true;
}

static void note_removal(struct mount *m, struct node *directory,
			 const char *name, struct caller *caller)
{
	struct process process = caller_process(caller);

	insider_add(m, directory, &process, SEES_ALL);
	if (artifact_kind_of(name) == ARTIFACT_COMPILED_MODULE)
		rendering_orphaned(m, directory);
}

int name_unlink(struct mount *m, struct node *directory, const char *name,
		struct caller *caller)
{
	bool removed;
	int err;

	if (m->read_only || control_has(m, directory, name))
		return -EROFS;
	removed = unlink_private(m, directory, name, caller);
	if (rendering_is_name(name) && unlink_rendering(m, directory, caller))
		return 0;
	err = unlink_published(m, directory, name);
	if (err == -ENOENT && removed)
		return 0;
	if (!err)
		note_removal(m, directory, name, caller);
	return err;
}

/* Whether the store has nothing in a directory that the caller would see. */
static bool shows_nothing(struct mount *m, struct node *directory,
			  struct caller *caller)
{
	AUTO_CLOSEDIR DIR *dir = dir_stream(&m->tree, directory);
	struct dirent *entry;
	bool nothing = true;

	if (!dir)
		return false;
	while (nothing && (entry = fd_list_next(dir))) {
		struct found found;
		int err = lookup_name(m, directory, entry->d_name, caller,
				      &found);

		if (!err)
			node_drop(&m->tree, found.node);
		nothing = err == -ENOENT;
	}
	return nothing && !errno;
}

/* Whether a name in a directory to be removed is an .idx that nobody sees. */
static bool is_remainder(struct mount *m, struct node *directory,
			 const char *name, struct caller *caller)
{
	struct found found;
	int err = lookup_name(m, directory, name, caller, &found);

	if (!err)
		node_drop(&m->tree, found.node);
	return err == -ENOENT && artifact_kind_of(name) == ARTIFACT_INDEX;
}

/* Removes what is left of files that were removed; nothing that shows. */
static void clear_remainders(struct mount *m, struct node *directory,
			     struct caller *caller)
{
	AUTO_CLOSEDIR DIR *dir = dir_stream(&m->tree, directory);
	struct dirent *entry;

	if (!dir)
		return;
	while ((entry = fd_list_next(dir)))
		if (is_remainder(m, directory, entry->d_name, caller))
			unlinkat(dirfd(dir), entry->d_name, 0);
}

static void detach_directory(struct mount *m, struct node *node)
{
	tree_lock(&m->tree);
	tree_detach(&m->tree, node);
	tree_unlock(&m->tree);
}

/* What is left of removed files does not keep a directory from removal. */
static int remove_directory(struct mount *m, struct node *directory,
			    const char *name, struct node *node,
			    struct caller *caller)
{
	int err;

	if (m->hides.used && !shows_nothing(m, node, caller))
		return -ENOTEMPTY;
	err = removal_of_directory(m, directory, name);
	if (err != -ENOTEMPTY)
		return err;
	clear_remainders(m, node, caller);
	return removal_of_directory(m, directory, name);
}

int name_rmdir(struct mount *m, struct node *directory, const char *name,
	       struct caller *caller)
{
	struct found found;
	int err;

	if (m->read_only || control_has(m, directory, name))
		return -EROFS;
	err = lookup_name(m, directory, name, caller, &found);
	if (err)
		return err;
	if (found.node->kind != NODE_DIRECTORY) {
		err = -ENOTDIR;
	} else if (private_any(m, found.node, caller)) {
		err = -ENOTEMPTY;
	} else {
		err = remove_directory(m, directory, name, found.node, caller);
		if (!err)
			detach_directory(m, found.node);
	}
	node_drop(&m->tree, found.node);
	return err;
}
