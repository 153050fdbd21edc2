/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/private.h"

#include <errno.h>
#include <string.h>

#include "fs/mount/file.h"
#include "fs/mount/trouble.h"

/* The first private version; of `name`, and of `owner`, unless NULL. */
static struct node *find(struct node *directory, const char *name,
			 const struct process *owner)
{
	struct node *node = directory->directory.privates;

	while (node && ((name && strcmp(node->name, name) != 0) ||
			(owner && !process_equal(&node->file.owner, owner))))
		node = node->next;
	return node;
}

static bool is_open(struct node *node)
{
	bool open;

	pthread_mutex_lock(&node->lock);
	open = node->file.handles > 0;
	pthread_mutex_unlock(&node->lock);
	return open;
}

/* One that nobody can open or publish any more: held, or NULL. */
static struct node *find_orphan(struct mount *m, struct node *directory)
{
	struct node *node;

	tree_lock(&m->tree);
	node = directory->directory.privates;
	while (node && (is_open(node) || process_is_alive(&node->file.owner)))
		node = node->next;
	if (node)
		node_hold(node);
	tree_unlock(&m->tree);
	return node;
}

static void drop_orphans(struct mount *m, struct node *directory)
{
	struct node *node;

	while ((node = find_orphan(m, directory))) {
		private_end(m, node);
		node_drop(&m->tree, node);
	}
}

struct node *private_find(struct mount *m, struct node *directory,
			  const char *name, struct caller *caller,
			  bool *contested)
{
	struct node *node = NULL;
	struct process owner;

	tree_lock(&m->tree);
	*contested = find(directory, name, NULL);
	tree_unlock(&m->tree);
	if (!*contested)
		return NULL;
	owner = caller_process(caller);
	tree_lock(&m->tree);
	node = find(directory, name, &owner);
	if (node)
		node_hold(node);
	tree_unlock(&m->tree);
	if (!node)
		drop_orphans(m, directory);
	return node;
}

bool private_any(struct mount *m, struct node *directory, struct caller *caller)
{
	struct process owner;
	bool any;

	tree_lock(&m->tree);
	any = directory->directory.privates;
	tree_unlock(&m->tree);
	if (!any)
		return false;
	owner = caller_process(caller);
	tree_lock(&m->tree);
	any = find(directory, NULL, &owner);
	tree_unlock(&m->tree);
	return any;
}

static int fill(struct node_file *file, struct version *from, mode_t mode)
{
	if (from) {
		file->version = version_get(from);
		file_adopt_meta(file, version_meta(from));
		return 0;
	}
	file->mode = mode & 07777;
	clock_gettime(CLOCK_REALTIME, &file->mtime);
	return file_new_ino(&file->ino);
}

/* Two threads of one process that begin at once share one version. */
static struct node *attach_or_find(struct mount *m, struct node *node)
{
	struct node *other;

	tree_lock(&m->tree);
	other = find(node->parent, node->name, &node->file.owner);
	if (other)
		node_hold(other);
	else
		tree_attach(&m->tree, node);
	tree_unlock(&m->tree);
	if (!other)
		return node;
	node_drop(&m->tree, node);
	return other;
}

int private_begin(struct mount *m, struct node *directory, const char *name,
		  struct version *from, mode_t mode, struct caller *caller,
		  struct node **out)
{
	struct node *node = node_new(&m->tree, NODE_PRIVATE, directory, name);
	int err;

	if (!node)
		return -ENOMEM;
	drop_orphans(m, directory);
	node->file.owner = caller_process(caller);
	err = fill(&node->file, from, mode);
	if (err) {
		node_drop(&m->tree, node);
		return err;
	}
	clock_gettime(CLOCK_REALTIME, &node->file.ctime);
	*out = attach_or_find(m, node);
	return 0;
}

void private_end(struct mount *m, struct node *node)
{
	tree_lock(&m->tree);
	tree_detach(&m->tree, node);
	tree_unlock(&m->tree);
}

/* With the tree's lock held: takes the node out of the list; still held. */
static struct node *take_kept(struct mount *m, size_t i)
{
	struct node *node = m->kept[i];

	for (; i + 1 < KEPT; i++)
		m->kept[i] = m->kept[i + 1];
	m->kept[KEPT - 1] = NULL;
	return node;
}

/* One whose owner is gone, or the oldest when there is no place left. */
static struct node *next_to_drop(struct mount *m)
{
	struct node *node = NULL;

	tree_lock(&m->tree);
	for (size_t i = 0; i < KEPT && m->kept[i] && !node; i++)
		if (!process_is_alive(&m->kept[i]->file.owner))
			node = take_kept(m, i);
	if (!node && m->kept[KEPT - 1])
		node = take_kept(m, 0);
	tree_unlock(&m->tree);
	return node;
}

static void add_kept(struct mount *m, struct node *node)
{
	size_t i = 0;

	tree_lock(&m->tree);
	while (i < KEPT - 1 && m->kept[i] && m->kept[i] != node)
		i++;
	if (!m->kept[i])
		m->kept[i] = node_hold(node);
	tree_unlock(&m->tree);
}

void private_keep(struct mount *m, struct node *node)
{
	char path[TROUBLE_PATH_MAX];
	struct node *old;

	if (!file_is_empty(node)) /* graph engines make an empty .idx first */
		log_event(m->log, LOG_LEVEL_WARNING, "not published \"%s\": %s",
			  trouble_path(m, node, NULL, path), node->file.why);
	while ((old = next_to_drop(m))) {
		private_end(m, old);
		node_drop(&m->tree, old);
	}
	add_kept(m, node);
}
