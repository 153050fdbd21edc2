/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPS_H
#define TACFS_FS_MOUNT_OPS_H

#include <fuse_lowlevel.h>
#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

/*
 * The kernel's requests, for a session whose user data is a struct mounted.
 * Each is translated to one call and answered exactly once. flock and the other
 * locks are left out, so that the kernel keeps them for this mount.
 */
extern const struct fuse_lowlevel_ops mount_ops;

struct mount;

struct mounted {
	struct mount *mount;
	/* Called once, when the kernel has begun to talk. */
	void (*ready)(struct mounted *mounted);
	int ready_fd; /* for `ready` */
	int claim;    /* the mount point's (mountpoint.h); for `ready` */
	/* The kernel's first request, if killpriv_promise() can be kept. */
	_Atomic uint64_t offer;
	bool unmounted; /* the kernel ended it, and every file is closed */
};

#endif
