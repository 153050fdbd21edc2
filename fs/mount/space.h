/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_SPACE_H
#define TACFS_FS_MOUNT_SPACE_H

/* Where an open file has bytes, and where it is to have some. */

#include "fs/mount/open.h"

/*
 * fallocate(2) of what is being written, by the file system below: -EOPNOTSUPP
 * for what that cannot. Space beyond the end is given back by the publication.
 */
int handle_allocate(struct mount *m, struct handle *h, int mode,
		    uint64_t offset, uint64_t size);

/*
 * lseek(2) with SEEK_DATA or SEEK_HOLE. Only what is being written has holes.
 * -ENXIO at the end of the file, and beyond.
 */
int handle_seek(struct handle *h, uint64_t offset, int whence, uint64_t *at);

#endif
