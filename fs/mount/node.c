/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/node.h"

#include <errno.h>
#include <string.h>

#include "codec/digest.h"
#include "fs/fd.h"
#include "fs/mount/dir.h"
#include "fs/own.h"

enum {
	FIRST_BUCKETS = 1024 /* a power of two */
};

void tree_lock(struct tree *tree)
{
	pthread_mutex_lock(&tree->lock);
}

void tree_unlock(struct tree *tree)
{
	pthread_mutex_unlock(&tree->lock);
}

struct node *node_hold(struct node *node)
{
	node->holds++;
	return node;
}

static size_t bucket_of(const struct tree *tree, const struct node *parent,
			const char *name)
{
	uint64_t hash = check_of(name, strlen(name), (uintptr_t)parent);

	return hash & (tree->bucket_count - 1);
}

struct node *tree_find(struct tree *tree, const struct node *parent,
		       const char *name)
{
	struct node *node = tree->buckets[bucket_of(tree, parent, name)];

	while (node &&
	       (node->parent != parent || strcmp(node->name, name) != 0))
		node = node->next;
	return node;
}

bool tree_is_attached(struct tree *tree, const struct node *node)
{
	bool attached;

	tree_lock(tree);
	attached = node->attached;
	tree_unlock(tree);
	return attached;
}

struct node *tree_hold(struct tree *tree, const struct node *parent,
		       const char *name, enum node_kind kind)
{
	struct node *node;

	tree_lock(tree);
	node = tree_find(tree, parent, name);
	if (node && node->kind == kind)
		node_hold(node);
	else
		node = NULL;
	tree_unlock(tree);
	return node;
}

/* Without memory the chains stay longer, and everything still works. */
static void grow(struct tree *tree)
{
	struct tree larger = { .bucket_count = tree->bucket_count * 2 };

	larger.buckets = calloc(larger.bucket_count, sizeof(struct node *));
	if (!larger.buckets)
		return;
	for (size_t i = 0; i < tree->bucket_count; i++) {
		struct node *node = tree->buckets[i];

		while (node) {
			struct node *next = node->next;
			size_t to =
				bucket_of(&larger, node->parent, node->name);

			node->next = larger.buckets[to];
			larger.buckets[to] = node;
			node = next;
		}
	}
	free(tree->buckets);
	tree->buckets = larger.buckets;
	tree->bucket_count = larger.bucket_count;
}

static struct node **link_to(struct tree *tree, struct node *node)
{
	struct node **link;

	if (node->kind == NODE_PRIVATE)
		link = &node->parent->directory.privates;
	else
		link = &tree->buckets[bucket_of(tree, node->parent,
						node->name)];
	while (*link && *link != node)
		link = &(*link)->next;
	return link;
}

/* A private version is held by its directory's list: nobody else may be. */
static void attach(struct tree *tree, struct node *node)
{
	struct node **link = link_to(tree, node);

	node->next = NULL;
	*link = node;
	node->attached = true;
	if (node->kind == NODE_PRIVATE)
		node_hold(node);
	else if (++tree->count > tree->bucket_count)
		grow(tree);
}

void tree_attach(struct tree *tree, struct node *node)
{
	if (node->kind != NODE_PRIVATE) {
		struct node *old = tree_find(tree, node->parent, node->name);

		if (old)
			tree_detach(tree, old);
	}
	attach(tree, node);
}

/* The caller holds the node, so that it is not freed here. */
void tree_detach(struct tree *tree, struct node *node)
{
	if (!node->attached)
		return;
	*link_to(tree, node) = node->next;
	node->next = NULL;
	node->attached = false;
	if (node->kind == NODE_PRIVATE)
		node->holds--;
	else
		tree->count--;
}

static void enlist(struct tree *tree, struct node *node)
{
	node->older = tree->newest;
	if (node->older)
		node->older->newer = node;
	tree->newest = node;
}

static void delist(struct tree *tree, struct node *node)
{
	if (node->newer)
		node->newer->older = node->older;
	else
		tree->newest = node->older;
	if (node->older)
		node->older->newer = node->newer;
}

struct node *node_new(struct tree *tree, enum node_kind kind,
		      struct node *parent, const char *name)
{
	struct node *node = calloc(1, sizeof(*node));

	if (!node)
		return NULL;
	node->name = strdup(name);
	if (!node->name) {
		free(node);
		return NULL;
	}
	node->kind = kind;
	node->holds = 1;
	if (kind == NODE_DIRECTORY)
		node->directory.fd = node->directory.lock = -1;
	pthread_rwlock_init(&node->writing, NULL);
	pthread_mutex_init(&node->lock, NULL);
	tree_lock(tree);
	if (parent)
		node->parent = node_hold(parent);
	enlist(tree, node);
	tree_unlock(tree);
	return node;
}

static void free_file(struct node_file *file)
{
	version_put(file->version);
	scratch_free(file->work);
	free(file->xattrs);
	free(file->text);
}

static void node_free(struct tree *tree, struct node *node)
{
	switch (node->kind) {
	case NODE_DIRECTORY:
		dir_forget(tree, node);
		own_close(&node->directory.lock);
		version_put(node->directory.hidden);
		free(node->directory.insiders);
		break;
	case NODE_FILE:
	case NODE_PRIVATE:
	case NODE_READABLE:
	case NODE_REPORT:
		free_file(&node->file);
		break;
	case NODE_CONTROL:
	case NODE_SYMLINK:
		break;
	}
	pthread_rwlock_destroy(&node->writing);
	pthread_mutex_destroy(&node->lock);
	free(node->name);
	free(node);
}

/* Frees the node, and its parents, as far as nothing needs them any more. */
static void release(struct tree *tree, struct node *node)
{
	while (node && !node->holds && !node->lookups) {
		struct node *parent = node->parent;

		tree_detach(tree, node);
		delist(tree, node);
		node_free(tree, node);
		if (parent)
			parent->holds--;
		node = parent;
	}
}

void node_drop(struct tree *tree, struct node *node)
{
	if (!node)
		return;
	tree_lock(tree);
	node->holds--;
	release(tree, node);
	tree_unlock(tree);
}

void node_forget(struct tree *tree, struct node *node, uint64_t lookups)
{
	tree_lock(tree);
	node->lookups -= lookups < node->lookups ? lookups : node->lookups;
	release(tree, node);
	tree_unlock(tree);
}

int tree_move(struct tree *tree, struct node *node, struct node *parent,
	      const char *name)
{
	char *copy = strdup(name);
	struct node *old = node->parent;
	bool attached = node->attached;

	if (!copy)
		return -ENOMEM;
	node_hold(node);
	tree_detach(tree, node);
	free(node->name);
	node->name = copy;
	node->parent = node_hold(parent);
	old->holds--;
	release(tree, old);
	if (attached)
		tree_attach(tree, node);
	node->holds--;
	return 0;
}

int node_place(struct tree *tree, struct node *node, struct place *place)
{
	int err = 0;

	tree_lock(tree);
	place->name = strdup(node->name);
	place->parent = node->parent;
	if (!place->name)
		err = -ENOMEM;
	else if (place->parent)
		node_hold(place->parent);
	tree_unlock(tree);
	return err;
}

void place_free(struct tree *tree, struct place *place)
{
	free(place->name);
	node_drop(tree, place->parent);
	*place = (struct place){ 0 };
}

int tree_init(struct tree *tree, int root, size_t open_limit)
{
	struct fd_identity identity;
	int err = fd_identify(root, &identity);

	*tree = (struct tree){ .bucket_count = FIRST_BUCKETS,
			       .open_limit = open_limit };
	if (err)
		return err;
	pthread_mutex_init(&tree->lock, NULL);
	tree->buckets = calloc(tree->bucket_count, sizeof(struct node *));
	tree->root = node_new(tree, NODE_DIRECTORY, NULL, "");
	if (!tree->buckets || !tree->root) {
		tree_free(tree);
		return -ENOMEM;
	}
	tree->root->directory.identity = identity;
	tree->root->directory.uses = 1; /* it has no place to be found at */
	dir_adopt(tree, tree->root, root);
	return 0;
}

void tree_free(struct tree *tree)
{
	struct node *node = tree->newest;

	while (node) {
		struct node *older = node->older;

		node_free(tree, node);
		node = older;
	}
	free(tree->buckets);
	pthread_mutex_destroy(&tree->lock);
}
