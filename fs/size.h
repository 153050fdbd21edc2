/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_SIZE_H
#define TACFS_FS_SIZE_H

/* Sizes as people write them. */

#include <stdint.h>

/*
 * Bytes: digits, and K, M, G or T for 1024 of the one before. Returns 0, or
 * -EINVAL when `text` is something else or does not fit.
 */
int size_parse(const char *text, uint64_t *size);

#endif
