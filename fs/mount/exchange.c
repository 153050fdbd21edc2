/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/exchange.h"

#include <errno.h>

#include "compiler/artifact.h"
#include "fs/mount/commit.h"
#include "fs/mount/control.h"
#include "fs/mount/dir.h"
#include "fs/mount/file.h"
#include "fs/mount/lookup.h"
#include "fs/mount/rendering.h"

enum { ENDS = 2 };

struct exchange {
	struct mount *m;
	struct rename_end ends[ENDS];
	struct node *nodes[ENDS]; /* what they showed before; held */
	struct caller *caller;
};

/* `node` gets the name at `end`. */
static int prepare(const struct exchange *x, struct node *node,
		   const struct rename_end *end)
{
	int err;

	if (node->kind == NODE_PRIVATE || node->kind == NODE_READABLE)
		return -EINVAL;
	if (node->kind != NODE_FILE)
		return 0;
	err = commit_locked(x->m, node, false);
	if (!err && rename_needs_judging(node, end->name))
		err = -EINVAL;
	return err;
}

static int exchange_stored(const struct exchange *x)
{
	struct tree *tree = &x->m->tree;
	AUTO_DIR struct dir_use a = dir_begin(tree, x->ends[0].directory);
	AUTO_DIR struct dir_use b = dir_begin(tree, x->ends[1].directory);

	if (a.fd < 0 || b.fd < 0)
		return a.fd < 0 ? a.fd : b.fd;
	return store_exchange(x->m->store, a.fd, x->ends[0].name, b.fd,
			      x->ends[1].name);
}

/* The second is detached by the first, which takes its name. */
static int exchange_nodes(const struct exchange *x)
{
	struct tree *tree = &x->m->tree;
	int err = 0;

	tree_lock(tree);
	for (int i = 0; i < ENDS && !err; i++) {
		const struct rename_end *to = &x->ends[1 - i];

		tree_detach(tree, x->nodes[i]);
		err = tree_move(tree, x->nodes[i], to->directory, to->name);
		if (!err)
			tree_attach(tree, x->nodes[i]);
	}
	tree_unlock(tree);
	return err;
}

static void set_publishing(const struct exchange *x, bool publishing)
{
	for (int i = 0; i < ENDS; i++)
		if (x->nodes[i]->kind == NODE_FILE)
			file_set_publishing(x->m, x->nodes[i], publishing);
}

static void note_name(const struct exchange *x, const struct rename_end *end,
		      const struct node *shown)
{
	struct process process = caller_process(x->caller);

	insider_add(x->m, end->directory, &process, SEES_ALL);
	if (artifact_kind_of(end->name) != ARTIFACT_COMPILED_MODULE)
		return;
	if (shown->kind == NODE_FILE)
		rendering_published(x->m, end->directory);
	else
		rendering_orphaned(x->m, end->directory);
}

static int exchange_prepared(const struct exchange *x)
{
	int err;

	set_publishing(x, true);
	err = exchange_stored(x);
	if (!err)
		err = exchange_nodes(x);
	for (int i = 0; i < ENDS && !err; i++) {
		if (x->nodes[i]->kind == NODE_FILE)
			rename_reload(x->m, x->nodes[i]);
		note_name(x, &x->ends[1 - i], x->nodes[i]);
	}
	set_publishing(x, false);
	return err;
}

static int exchange_locked(const struct exchange *x)
{
	int err = prepare(x, x->nodes[0], &x->ends[1]);

	if (!err)
		err = prepare(x, x->nodes[1], &x->ends[0]);
	return err ? err : exchange_prepared(x);
}

/* By address, as in a rename. */
static int exchange_found(const struct exchange *x)
{
	int first = x->nodes[0] > x->nodes[1];
	int err;

	pthread_rwlock_wrlock(&x->nodes[first]->writing);
	pthread_rwlock_wrlock(&x->nodes[1 - first]->writing);
	err = exchange_locked(x);
	pthread_rwlock_unlock(&x->nodes[1 - first]->writing);
	pthread_rwlock_unlock(&x->nodes[first]->writing);
	return err;
}

static int find(struct exchange *x, int end)
{
	const struct rename_end *at = &x->ends[end];
	struct found found;
	int err = control_has(x->m, at->directory, at->name)
			  ? -EROFS
			  : lookup_name(x->m, at->directory, at->name,
					x->caller, &found);

	if (!err)
		x->nodes[end] = found.node;
	return err;
}

int name_exchange(struct mount *m, const struct rename_end *first,
		  const struct rename_end *second, struct caller *caller)
{
	struct exchange x = { .m = m,
			      .ends = { *first, *second },
			      .caller = caller };
	int err = find(&x, 0);

	if (!err)
		err = find(&x, 1);
	if (!err && x.nodes[0] != x.nodes[1])
		err = exchange_found(&x);
	node_drop(&m->tree, x.nodes[0]);
	node_drop(&m->tree, x.nodes[1]);
	return err;
}
