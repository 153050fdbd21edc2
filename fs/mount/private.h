/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_PRIVATE_H
#define TACFS_FS_MOUNT_PRIVATE_H

/*
 * Private versions: what one process is writing under an artifact's name, and
 * nobody else sees.
 */

#include "fs/mount/mount.h"

/*
 * The private version that the caller has under this name, held; or NULL.
 * *contested says whether anybody has one: then the kernel must keep no answer
 * about the name. Those of dead processes are dropped on the way.
 */
struct node *private_find(struct mount *m, struct node *directory,
			  const char *name, struct caller *caller,
			  bool *contested);

/*
 * Starts one for the caller: with the content and attributes of `from`, or
 * empty with `mode` when that is NULL. Returns it held, or a negative errno.
 */
int private_begin(struct mount *m, struct node *directory, const char *name,
		  struct version *from, mode_t mode, struct caller *caller,
		  struct node **out);

/* Whether the caller has a private version of any name there. */
bool private_any(struct mount *m, struct node *directory,
		 struct caller *caller);

/*
 * Nobody has it open any more, and it is unsound: its owner alone still sees
 * it, as long as that lives and not too many others are kept.
 */
void private_keep(struct mount *m, struct node *node);

/* It is published, or given up: its name does not show it any more. */
void private_end(struct mount *m, struct node *node);

#endif
