/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_JSON_TEXT_H
#define TACFS_FS_CLI_JSON_TEXT_H

#include <jansson.h>
#include <stddef.h>

/*
 * A JSON string. JSON has valid Unicode only: what a path or a text has else
 * becomes U+FFFD. NULL without memory.
 */
json_t *json_text(const void *bytes, size_t size);

#endif
