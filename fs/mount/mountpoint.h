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
 * The right to mount there, so that of two who try at the same time the second
 * sees the first: closing *fd gives it back. Waits some seconds for another,
 * and then goes on, as where the file system has no such locks: *fd is -1 then.
 */
void mountpoint_claim(const char *mountpoint, int *fd);

/* What tells a mount there from others; negative when it is not known. */
long mountpoint_id(const char *mountpoint);

/*
 * Takes the mount with this id away from there, even if it is busy; another is
 * left alone. Asks nothing of its daemon. 0 when it is not there any more, or
 * what unmounting says.
 */
int mountpoint_leave(const char *mountpoint, long id);

/*
 * That neither of the two directories contains the other, or is it, by whatever
 * path. The store need not be there yet, and then only its directory has to be.
 * 0, or -EINVAL and one line in `why`. What cannot be found out is no failure.
 */
int mountpoint_apart(const char *store, const char *mountpoint, char *why,
		     size_t why_size);

#endif
