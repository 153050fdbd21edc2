/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_SESSION_H
#define TACFS_FS_MOUNT_SESSION_H

#include "fs/mount/options.h"

struct fuse_args;

/*
 * Opens the store (and makes it when it is not there), mounts, and serves until
 * the file system is unmounted or a signal ends it. Unless `foreground` is set
 * it goes to the background and the calling process returns once the mount
 * answers. Returns a process's exit status; problems before that are told on
 * standard error.
 */
int session_run(const struct mount_options *o, struct fuse_args *args);

#endif
