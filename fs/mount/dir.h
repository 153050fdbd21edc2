/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_DIR_H
#define TACFS_FS_MOUNT_DIR_H

/*
 * The descriptors of directories. The kernel may know any number of them, so
 * not all are open: those unused for longest are closed, and opened again, by
 * the path that their nodes have, when somebody needs them. A directory that
 * was moved or removed meanwhile by another mount is then not found; while it
 * is open, it is.
 */

#include <dirent.h>

#include "fs/mount/node.h"

/* A descriptor in use. Ends with its scope. */
struct dir_use {
	struct tree *tree;
	struct node *node; /* held by the caller; NULL when there is none */
	int fd;		   /* O_PATH */
};

/*
 * Keeps the directory's descriptor open until dir_end(). The result's fd is a
 * negative errno when it cannot be had: -ESTALE when it is not at its place any
 * more. Takes the tree's lock.
 */
struct dir_use dir_begin(struct tree *tree, struct node *node);
void dir_end(struct dir_use *use);

#define AUTO_DIR __attribute__((cleanup(dir_end)))

/*
 * Its names, for the caller to closedir(); without that being a use of it. NULL
 * and errno.
 */
DIR *dir_stream(struct tree *tree, struct node *node);
/* Brings its names to disk. 0 or a negative errno. */
int dir_sync(struct tree *tree, struct node *node);

/*
 * Gives a new node its descriptor. Closes others' when there are too many. With
 * the tree's lock held.
 */
void dir_adopt(struct tree *tree, struct node *node, int fd);
/* Closes it for good. With the tree's lock held. */
void dir_forget(struct tree *tree, struct node *node);

/*
 * From now on no other directory has its identity: keeps it open for good where
 * directories have no birth. Takes the tree's lock.
 */
void dir_keep(struct tree *tree, struct node *node);

#endif
