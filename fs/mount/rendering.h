/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_RENDERING_H
#define TACFS_FS_MOUNT_RENDERING_H

/*
 * readable.py: beside every published compiled_module, a file that nobody
 * wrote. It never stands in the way of a client that removes a directory, or
 * that writes the same text there.
 */

#include "codec/writer.h"
#include "fs/mount/mount.h"

#define RENDERING_NAME	 "readable.py"
#define RENDERING_SOURCE "compiled_module"

bool rendering_is_name(const char *name);

/*
 * The compiled_module that a readable.py in this directory shows, counted. 0;
 * -ENOENT when none is published; other errnos of version_load().
 */
int rendering_source(struct mount *m, struct node *directory,
		     struct version **out);
/* The same, and -ENOENT also when its readable.py was unlinked. */
int rendering_shown(struct mount *m, struct node *directory,
		    struct version **out);

/* The text, checked and complete. 0 or a negative errno. */
int rendering_make(struct mount *m, struct version *source, struct writer *out);

/* The node for it, held. 0, -ENOENT, or other errnos. */
int rendering_lookup(struct mount *m, struct node *directory,
		     struct caller *caller, struct node **out);

/*
 * Makes the text of an open node available, until the last one is done. -ENOENT
 * when the source is damaged, or was removed.
 */
int rendering_open(struct mount *m, struct node *node, struct node *directory);
/* An insider has met the readable.py of a removed compiled_module. */
void rendering_forget(struct mount *m, struct node *directory);
void rendering_close(struct node *node);
ssize_t rendering_read(struct node *node, uint64_t offset, void *bytes,
		       size_t size);

/*
 * The caller creates a compiled_module with O_EXCL, as cp(1) and tar(1) do: it
 * may create its copy of the readable.py in the same way, and so must not see
 * this one until it has.
 */
void rendering_hide(struct mount *m, struct node *directory,
		    struct caller *caller);

/* Unlinks it: not shown until another compiled_module is published. */
int rendering_unlink(struct mount *m, struct node *directory);

/* A compiled_module was published there: shows the new one's. */
void rendering_published(struct mount *m, struct node *directory);
/* It was removed there: insiders may still unlink its readable.py. */
void rendering_orphaned(struct mount *m, struct node *directory);

/*
 * What somebody wrote to a readable.py: accepted when it is what is shown
 * anyway. 0; -EROFS; -ENOENT when there is no compiled_module (any more).
 */
int rendering_accept(struct mount *m, struct node *directory,
		     const struct scratch_view *view);

#endif
