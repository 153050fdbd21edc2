/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_MOUNTPOINT_H
#define TACFS_FS_MOUNT_MOUNTPOINT_H

/*
 * What is looked at before a store is mounted, so that the mount neither hides
 * its store, nor another mount, and works where one has died.
 */

#include <stddef.h>

/*
 * Unmounts the tacfs mounts at this path whose daemons are gone. 0; -EBUSY when
 * one is there that answers; what unmounting says. On failure `why` has one
 * line.
 */
int mountpoint_clear(const char *mountpoint, char *why, size_t why_size);

/*
 * That neither of the two directories contains the other, or is it, by whatever
 * path. The store need not be there yet, and then only its directory has to be.
 * 0, or -EINVAL and one line in `why`. What cannot be found out is no failure.
 */
int mountpoint_apart(const char *store, const char *mountpoint, char *why,
		     size_t why_size);

#endif
