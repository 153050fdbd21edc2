/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_KILLPRIV_H
#define TACFS_FS_MOUNT_KILLPRIV_H

/*
 * Who changes a file takes its setuid and setgid bits from it. Unless we do
 * that, the kernel does, and asks for the attribute security.capability before
 * each write, which costs as much as half of the write. So we do.
 */

#include <fuse_lowlevel.h>
#include <stdbool.h>
#include <sys/stat.h>

#include "fs/mount/node.h"

/*
 * Tells the kernel, when the session begins. To be called when it is mounted;
 * its user data is a struct mounted. 0; or a negative errno, and then the
 * session is as it was.
 */
int killpriv_promise(struct fuse_session *session);

/* The content was written by the sender of the request. */
void killpriv_written(fuse_req_t req, struct node *node);
/* What is to be set, FUSE_SET_ATTR_*, besides `set` for the same sender. */
int killpriv_setattr(fuse_req_t req, struct node *node, struct stat *attr,
		     int set);

#endif
