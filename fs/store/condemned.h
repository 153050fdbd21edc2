/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_CONDEMNED_H
#define TACFS_FS_STORE_CONDEMNED_H

/*
 * What stands for quarantine/ in a store that is not to be changed: the files
 * that were found damaged. They are not there any more as long as they are what
 * they were then. Very many of them may push each other out; such a file is
 * only judged again.
 */

#include <stdbool.h>

#include "fs/store/identity.h"

struct condemned;

struct condemned *condemned_new(void); /* NULL without memory */
void condemned_free(struct condemned *c);

/* NULL is fine, and has nothing. Both are safe from any thread. */
bool condemned_has(struct condemned *c, const struct file_identity *file);
/* Whether it was not there before. */
bool condemned_add(struct condemned *c, const struct file_identity *file);

#endif
