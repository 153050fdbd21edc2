/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_IDS_H
#define TACFS_FS_IDS_H

/* What the ids of users and groups mean in the user namespace we are in. */

#include <stdbool.h>
#include <stdint.h>

enum {
	IDS_OVERFLOW = 65534, /* stands for all that have no id here */
};

/* Whether all ids mean here what they mean outside. */
bool ids_are_whole(void);

/*
 * Whether an id of a user, or of a group, is one here. True when that is not
 * known.
 */
bool ids_have_user(uint32_t id);
bool ids_have_group(uint32_t id);

#endif
