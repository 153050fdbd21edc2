/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_HIDES_H
#define TACFS_FS_MOUNT_HIDES_H

/*
 * With deletes=private: the names that were removed in this mount, and that the
 * store has all the same. A name is hidden in one directory, by its inode, so
 * hidden names stay hidden when the directory is renamed, or is removed and
 * made again itself. Without deletes=private nothing is ever hidden.
 */

#include <stdbool.h>
#include <stddef.h>

struct mount;
struct node;
struct hidden;

/* Guarded by tree.lock, but for `used`, which is constant. */
struct hides {
	bool used; /* deletes=private */
	struct hidden **buckets;
	size_t bucket_count;
	size_t count;
};

/* When nothing uses the nodes any more. */
void hides_free(struct hides *hides);

/* Each takes the tree's lock. */
bool hides_has(struct mount *m, const struct node *directory, const char *name);
/* 0, also when it is hidden already; -ENOMEM. Holds the directory. */
int hides_add(struct mount *m, struct node *directory, const char *name);
/*
 * Shows the name again. Whether it was hidden: of several who ask at once, one
 * is told so.
 */
bool hides_take(struct mount *m, struct node *directory, const char *name);

#endif
