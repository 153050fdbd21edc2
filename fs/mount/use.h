/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_USE_H
#define TACFS_FS_MOUNT_USE_H

/*
 * Telling evictors, those of other mounts included, what is in use: a lock on
 * the store's directory while something in it is open, and its atime when
 * something in it was used last. docs/format.md, "Evicting".
 */

#include "fs/mount/mount.h"

/*
 * Around the time in which something in the directory is open; nested; NULL is
 * none. Takes the tree's lock. What the store's file system cannot do is left
 * out.
 */
void use_begin(struct mount *m, struct node *directory);
void use_end(struct mount *m, struct node *directory);

/*
 * Notes a use, at most once a second while nothing is published. Takes the
 * tree's lock.
 */
void use_note(struct mount *m, struct node *directory);

/*
 * Changes what fstat() said of a directory so that it does not show when it was
 * used: for programs that take a new ctime for a change. Takes the tree's lock.
 */
void use_hide(struct mount *m, struct node *directory, struct stat *st);

/*
 * Makes an evicted directory, and those above it, again, for who publishes into
 * it. Returns a descriptor (O_PATH) that the caller closes, or a negative
 * errno.
 */
int use_make_again(struct mount *m, struct node *directory);

#endif
