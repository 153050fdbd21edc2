/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_REASON_H
#define TACFS_FS_STORE_REASON_H

/* One line that says why a store cannot be opened, made or changed. */

#include <stddef.h>

struct reason {
	char *text;
	size_t size;
};

/* Returns `err`. */
int reason_give(const struct reason *why, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

#endif
