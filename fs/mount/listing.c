/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/listing.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <string.h>

#include "compiler/artifact.h"
#include "fs/fd.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/rendering.h"
#include "fs/own.h"

struct listing {
	struct node *directory;
	char **names;
	size_t count;
	size_t capacity;
};

struct listing *listing_open(struct mount *m, struct node *directory)
{
	struct listing *l = calloc(1, sizeof(*l));

	if (!l)
		return NULL;
	tree_lock(&m->tree);
	l->directory = node_hold(directory);
	tree_unlock(&m->tree);
	return l;
}

static void clear(struct listing *l)
{
	for (size_t i = 0; i < l->count; i++)
		free(l->names[i]);
	l->count = 0;
}

void listing_close(struct mount *m, struct listing *l)
{
	clear(l);
	free(l->names);
	node_drop(&m->tree, l->directory);
	free(l);
}

static int add(struct listing *l, const char *name)
{
	if (l->count == l->capacity) {
		size_t capacity = l->capacity ? 2 * l->capacity : 16;
		char **names = reallocarray(l->names, capacity, sizeof(*names));

		if (!names)
			return -ENOMEM;
		l->names = names;
		l->capacity = capacity;
	}
	l->names[l->count] = strdup(name);
	return l->names[l->count++] ? 0 : -ENOMEM;
}

/*
 * readable.py goes before its compiled_module, so that who unlinks what is
 * listed, in order, never finds it gone. Whether it is shown is looked up when
 * the entry is read.
 */
static int add_stored(const struct mount *m, struct listing *l,
		      const char *name)
{
	int err = 0;

	if (rendering_is_name(name) || control_has(m, l->directory, name))
		return 0;
	if (strcmp(name, RENDERING_SOURCE) == 0)
		err = add(l, RENDERING_NAME);
	return err ? err : add(l, name);
}

static int add_all_stored(struct mount *m, struct listing *l)
{
	AUTO_CLOSEDIR DIR *dir = dir_stream(&m->tree, l->directory);
	struct dirent *entry;
	bool source = false;
	bool rendering = false;
	int err = 0;

	if (!dir)
		return -errno;
	while (!err && (entry = fd_list_next(dir))) {
		source |= !strcmp(entry->d_name, RENDERING_SOURCE);
		rendering |= rendering_is_name(entry->d_name);
		err = add_stored(m, l, entry->d_name);
	}
	if (!err)
		err = -errno;
	if (!err && rendering && !source)
		err = add(l, RENDERING_NAME);
	return err;
}

static bool has(const struct listing *l, const char *name)
{
	for (size_t i = 0; i < l->count; i++)
		if (strcmp(l->names[i], name) == 0)
			return true;
	return false;
}

/* With the tree's lock held. */
static int add_owned(struct listing *l, const struct process *owner)
{
	const struct node *node = l->directory->directory.privates;
	int err = 0;

	for (; node && !err; node = node->next)
		if (process_equal(&node->file.owner, owner) &&
		    !has(l, node->name))
			err = add(l, node->name);
	return err;
}

static int add_private(struct mount *m, struct listing *l,
		       struct caller *caller)
{
	struct process owner;
	bool any;
	int err;

	tree_lock(&m->tree);
	any = l->directory->directory.privates;
	tree_unlock(&m->tree);
	if (!any)
		return 0;
	owner = caller_process(caller);
	tree_lock(&m->tree);
	err = add_owned(l, &owner);
	tree_unlock(&m->tree);
	return err;
}

static int add_control(struct listing *l)
{
	const char *name;
	int err = 0;

	for (size_t i = 0; !err && (name = control_name(i)); i++)
		err = add(l, name);
	return err;
}

int listing_fill(struct mount *m, struct listing *l, struct caller *caller)
{
	int err;

	clear(l);
	err = add(l, ".");
	if (!err)
		err = add(l, "..");
	if (!err && l->directory->kind == NODE_CONTROL)
		return add_control(l);
	if (!err)
		err = add_all_stored(m, l);
	if (!err)
		err = add_private(m, l, caller);
	return err;
}

void listing_gave(struct mount *m, struct listing *l, const char *name,
		  struct caller *caller)
{
	struct process process;
	unsigned sees = 0;

	if (rendering_is_name(name))
		sees = SEES_RENDERING;
	else if (artifact_kind_of(name) == ARTIFACT_INDEX)
		sees = SEES_INDEX;
	if (!sees)
		return;
	process = caller_process(caller);
	insider_add(m, l->directory, &process, sees);
}

const char *listing_name(const struct listing *l, size_t index)
{
	return index < l->count ? l->names[index] : NULL;
}

struct node *listing_directory(const struct listing *l)
{
	return l->directory;
}
