/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_FACTS_H
#define TACFS_FS_MOUNT_FACTS_H

/* What the store knows of a file, as text: the attributes user.tacfs.*. */

#include "codec/writer.h"
#include "fs/mount/mount.h"

/*
 * Writes what `name` (without that prefix) says of the node. 0; -ENODATA when
 * there is no such attribute, or nothing to say, as of content that is not
 * published yet; -ENOENT when the content turns out to be damaged; other errnos
 * of the system.
 */
int facts_tell(struct mount *m, struct node *node, const char *name,
	       struct writer *out);

#endif
