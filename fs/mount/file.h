/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_FILE_H
#define TACFS_FS_MOUNT_FILE_H

/*
 * The content and the attributes of file nodes: NODE_FILE and NODE_PRIVATE.
 */

#include "fs/mount/mount.h"

/* A number for st_ino that no other file has. 0, or a negative errno. */
int file_new_ino(uint64_t *ino);

/*
 * The attached file node that shows a published version, held; a new one when
 * there is none. NULL without memory.
 */
struct node *file_node(struct mount *m, struct node *parent, const char *name,
		       struct version *v);

/* The attributes of a version. With node.lock held, or the node new. */
void file_adopt_meta(struct node_file *file, const struct manifest_meta *meta);

/* The published version, counted; NULL when it never was. */
struct version *file_version(struct node *node);
/* Whether this mount has something that the store has not, or may get it. */
bool file_is_worked_on(struct node *node);
/* Whether something is to be published. */
bool file_is_dirty(struct node *node);

/* Whether it is never to be published any more. Takes the tree's lock. */
bool file_is_abandoned(struct mount *m, const struct node *node);

/* 0, or a negative errno. */
int file_size(struct node *node, uint64_t *size);
/* With what its content takes, in the store or in what is being written. */
int file_measure(struct node *node, uint64_t *size, uint64_t *stored);
/* lseek(2) in content without holes, for SEEK_DATA and SEEK_HOLE. */
int file_seek_whole(uint64_t size, uint64_t offset, int whence, uint64_t *at);
/* Whether it is known to have no bytes. */
bool file_is_empty(struct node *node);

ssize_t file_read(struct mount *m, struct node *node, uint64_t offset,
		  void *bytes, size_t size);
/* Write and resize make the node dirty, and start from what is published. */
int file_write(struct mount *m, struct node *node, uint64_t offset,
	       const void *bytes, size_t size);
/* At the end of the file, whatever is written beside it. */
int file_append(struct mount *m, struct node *node, const void *bytes,
		size_t size);
int file_resize(struct mount *m, struct node *node, uint64_t size);
/* The same with node.writing held alone. */
int file_resize_locked(struct mount *m, struct node *node, uint64_t size);
/* As fallocate(2). */
int file_allocate(struct mount *m, struct node *node, int mode, uint64_t offset,
		  uint64_t size);
/*
 * As lseek(2) with SEEK_DATA or SEEK_HOLE: -ENXIO at the end, and beyond. What
 * is published has no holes.
 */
int file_seek(struct node *node, uint64_t offset, int whence, uint64_t *at);

/* A copy of its extended attributes. 0 or -ENOMEM. */
int file_xattrs(struct node *node, struct writer *out);
/* Changes them, though nothing is to be published. Errors: xattrs_change()'s */
int file_change_xattrs(struct node *node, const struct xattr_change *change);

/* While it is set, lookups take the node for what its name shows. */
void file_set_publishing(struct mount *m, struct node *node, bool publishing);
/*
 * Whether the node can show this newer version of its file, because only the
 * attributes differ: then it does, and locks on it still exclude.
 */
bool file_adopt(struct node *node, struct version *v);
/*
 * The same for a lookup. Also true, and without adopting it, when writers have
 * begun since: then the node shows what they make of it.
 */
bool file_adopt_found(struct node *node, struct version *v);
/* Adopts a version that was just published for this node. */
void file_published(struct node *node, struct version *v);

/*
 * Frees what writers made of it, once nobody writes any more and all of it is
 * published. With node.writing held alone.
 */
void file_drop_work(struct node *node);

#endif
