/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_COMMIT_H
#define TACFS_FS_MOUNT_COMMIT_H

/*
 * From what was written to what is published: the content is judged by the
 * rules of its name, and then given to the store.
 */

#include "fs/mount/mount.h"

/*
 * Publishes a NODE_FILE or NODE_PRIVATE if there is something to publish. An
 * unsound artifact is not, and stays what it is: that is no error, since its
 * writer may go on. Nor is a directory that was removed meanwhile. Returns 0;
 * -EROFS for a readable.py that differs from the rendering; what the store
 * says. `durable` asks for it on disk; artifacts always are.
 */
int commit(struct mount *m, struct node *node, bool durable);
/* For fsync: what was published before is brought to disk, too. */
int commit_to_disk(struct mount *m, struct node *node);
/* The same with node.writing held alone. */
int commit_locked(struct mount *m, struct node *node, bool durable);
/* The same, unless a writer has it open, whose close will do it. */
int commit_unopened(struct mount *m, struct node *node);

/*
 * Publishes the published content of `node` under another name whose rules are
 * others. -EINVAL when it is unsound by them. With node.writing held alone.
 */
int commit_as(struct mount *m, struct node *node, struct node *directory,
	      const char *name, bool exclusive, struct version **out);

/* At the end of a mount: what was closed, and is still to be published. */
void commit_rest(struct mount *m);

/* Never published from now on. Says so in the log when `why` is not NULL. */
void commit_abandon(struct mount *m, struct node *node, const char *why);

#endif
