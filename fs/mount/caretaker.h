/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_CARETAKER_H
#define TACFS_FS_MOUNT_CARETAKER_H

/*
 * -o auto_unmount: a process that unmounts when the daemon has gone, however it
 * went. That of libfuse does not see what belongs to a user other than root,
 * nor tell a mount from the next one at that place.
 */

/*
 * Starts it. It holds none of our files. *fd is given to caretaker_tell(), and
 * stays open as long as we live. 0, or a negative errno.
 */
int caretaker_start(const char *mountpoint, int *fd);

/* What it is to unmount: a mountpoint_id(). */
void caretaker_tell(int fd, long mount_id);

/*
 * The mount has ended as it should. Its number may be another's soon, so
 * nothing is unmounted after this. Does nothing with -1.
 */
void caretaker_dismiss(int fd);

#endif
