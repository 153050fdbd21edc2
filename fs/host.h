/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_HOST_H
#define TACFS_FS_HOST_H

/*
 * Looking around on a host, or in a tree that stands for one: absolute paths,
 * also those in symlinks, are below its root.
 */

#include <stdbool.h>
#include <stddef.h>

enum { HOST_TEXT_MAX = 64 * 1024 };

struct host {
	int root;
	char *prefix; /* the root's own path; empty for the host itself */
};

/* `root` may be NULL: the host itself. 0 or a negative errno. */
int host_open(const char *root, struct host *host);
void host_close(struct host *host);

/* open(2) of an absolute path: a descriptor or a negative errno. */
int host_open_file(const struct host *host, const char *path, int flags);

/*
 * The path, in the host, of what is open with O_PATH: without symlinks. The
 * caller frees it; NULL when it is not to be had.
 */
char *host_path_of(const struct host *host, int fd);
/* The path as anybody outside would give it; the caller frees it. */
char *host_outer_path(const struct host *host, const char *path);

/*
 * The value of the first line `key=value` of a text file, without blanks
 * around it; at most HOST_TEXT_MAX bytes of the file are looked at. The caller
 * frees it. NULL when there is no such file or line.
 */
char *host_value_of(const struct host *host, const char *path, const char *key);

#endif
