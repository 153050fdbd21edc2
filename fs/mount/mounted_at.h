/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_MOUNTED_AT_H
#define TACFS_FS_MOUNT_MOUNTED_AT_H

/* What /proc/self/mountinfo says of one mount. */

#include <stdbool.h>

struct mounted_at {
	long id;
	char *path; /* where; unescaped */
	char *type;
	char *source;
};

/*
 * The mount that the file behind a descriptor (O_PATH will do) is on. 0;
 * -ENOENT when it cannot be found; -ENOMEM.
 */
int mounted_at_find(int fd, struct mounted_at *found);
void mounted_at_free(struct mounted_at *found);

#endif
