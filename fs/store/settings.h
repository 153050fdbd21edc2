/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_SETTINGS_H
#define TACFS_FS_STORE_SETTINGS_H

/*
 * The file settings at the top of a store: what its owner may change later. In
 * the manner of FORMAT, but replaced as a whole. docs/format.md, "Settings".
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/writer.h"

enum { SETTINGS_VERSION = 1 };

struct settings {
	uint64_t max_bytes; /* 0: no limit */
};

/*
 * Returns 0; -EBADMSG when it is damaged; -ENOTSUP when it is newer than this
 * program. On failure `why` says what is wrong.
 */
int settings_parse(const void *bytes, size_t size, struct settings *out,
		   char *why, size_t why_size);
void settings_write(const struct settings *settings, struct writer *out);

/*
 * Reads the file in the directory `root`; *owner tells whose it is. As above;
 * -ENOENT; other errnos.
 */
int settings_load(int root, struct settings *out, uid_t *owner, char *why,
		  size_t why_size);
/* Replaces the file, by way of the directory `tmp`. 0 or a negative errno. */
int settings_save(int root, int tmp, mode_t mode,
		  const struct settings *settings);

#endif
