/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/request.h"

#include "fs/mount/attr.h"

static fuse_ino_t ino_of(struct mount *m, const struct node *node)
{
	return node == m->tree.root ? FUSE_ROOT_ID : (uintptr_t)node;
}

int request_give(struct mount *m, const struct found *found,
		 struct fuse_entry_param *entry)
{
	int err;

	*entry = (struct fuse_entry_param){
		.ino = ino_of(m, found->node),
		.entry_timeout = found->timeout,
		.attr_timeout = found->timeout,
	};
	err = node_stat(m, found->node, &entry->attr);
	if (!err) {
		if (!entry->attr.st_nlink)
			entry->attr.st_nlink = 1; /* when it was found */
		tree_lock(&m->tree);
		found->node->lookups++;
		found->node->seen = ++m->tree.clock;
		tree_unlock(&m->tree);
	}
	node_drop(&m->tree, found->node);
	return err;
}

void request_take_back(struct mount *m, const struct fuse_entry_param *entry)
{
	node_forget(&m->tree, (struct node *)(uintptr_t)entry->ino, 1);
}
