/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_OWN_H
#define TACFS_FS_OWN_H

/*
 * A local that owns something says so where it is declared and is released when
 * its scope ends; ownership leaves by a take_.
 */

#include <dirent.h>
#include <stdlib.h>
#include <unistd.h>

static inline void own_free(void *pointer)
{
	free(*(void **)pointer);
}

static inline void own_close(const int *fd)
{
	if (*fd >= 0)
		close(*fd);
}

static inline void own_closedir(DIR **dir)
{
	if (*dir)
		closedir(*dir);
}

/* Clang does not take the end of the scope for a use. */
#define AUTO_FREE     __attribute__((cleanup(own_free), unused))
#define AUTO_CLOSE    __attribute__((cleanup(own_close), unused))
#define AUTO_CLOSEDIR __attribute__((cleanup(own_closedir), unused))

static inline void *take_memory(void **pointer)
{
	void *memory = *pointer;

	*pointer = NULL;
	return memory;
}

static inline int take_fd(int *fd)
{
	int taken = *fd;

	*fd = -1;
	return taken;
}

#endif
