/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_HOST_PYTHON_H
#define TACFS_FS_HOST_PYTHON_H

/* The python3 that the PATH gives, and where its packages are. */

#include "fs/host.h"

enum { HOST_PYTHON_SITES = 128, HOST_PYTHON_VERSION_SIZE = 8 };

struct host_python {
	char *program; /* as the PATH, or the program itself, names it */
	char version[HOST_PYTHON_VERSION_SIZE]; /* 3.11 */
	/* directories of packages in the order of sys.path, and NULL */
	char *sites[HOST_PYTHON_SITES + 1];
};

/*
 * The version is in the name that `python3` is a symlink to. If it is not, as
 * with the shims of pyenv, the program is run (isolated, without `site`) and
 * asked; not when the host is a tree that stands for one. 0; -ENOENT when there
 * is no python3 or it does not tell; -ENOMEM.
 */
int host_python_find(const struct host *host, struct host_python *python);
void host_python_free(struct host_python *python);

/*
 * Whether a package is installed in a directory, by the name of its .dist-info
 * or .egg-info: *version and *place, which the caller frees, or NULL when it is
 * not. The highest version of several. 0 or -ENOMEM.
 */
int host_package_in(const struct host *host, const char *directory,
		    const char *package, char **version, char **place);

#endif
