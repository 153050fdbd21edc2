/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_TREE_H
#define TACFS_FS_TREE_H

/*
 * Removes what has this name in the directory `dir`, and what is below it, at
 * most 8 directories deep; links are not followed. Returns 0, also when there
 * is nothing; or the first error.
 */
int tree_remove(int dir, const char *name);

#endif
