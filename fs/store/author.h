/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_AUTHOR_H
#define TACFS_FS_STORE_AUTHOR_H

/*
 * Which process has left something in the store: three words, the host's boot
 * id, the inode of the pid namespace, and the process id.
 */

#include <stdbool.h>

enum { AUTHOR_SIZE = 80 };

/* Of this process. What cannot be told, without /proc, are words of no one. */
void author_describe(char text[AUTHOR_SIZE]);

/*
 * Whether `text` begins with what was a process of this host, in our process
 * table, that has ended. If its number was given to another it seems to live.
 */
bool author_has_died(const char *text);

#endif
