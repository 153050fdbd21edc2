/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_RANDOM_H
#define TACFS_FS_RANDOM_H

/* Names and ids that nobody else comes up with. */

#include <stddef.h>

/* At most 256 bytes from the kernel. Returns 0 or a negative errno. */
int random_bytes(void *bytes, size_t size);

/* `digits` (even, at most 64) lowercase hex digits and a NUL. Same errors. */
int random_hex(char *text, size_t digits);

#endif
