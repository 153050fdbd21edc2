/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_LIMIT_H
#define TACFS_FS_CLI_LIMIT_H

/* The limit of a store's size, as commands are told it. */

#include <stdint.h>

/* These report what is wrong and return an enum cli_status. */
int limit_parse(const char *command, const char *text, uint64_t *max_bytes);
int limit_set(const char *command, const char *path, uint64_t max_bytes);

#endif
