/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_TRUST_H
#define TACFS_FS_MOUNT_TRUST_H

/* Other users whose entries are served: -o trust=USER[:USER...]. */

#include <stddef.h>
#include <sys/types.h>

struct trust {
	uid_t *users;
	size_t count;
};

/*
 * Adds those of `text`: names or numbers, with colons between them. Returns 0;
 * -1 with a line in `why`; -1 without one when there is no memory.
 */
int trust_add(const char *text, struct trust *trust, char *why,
	      size_t why_size);
void trust_free(struct trust *trust);

#endif
