/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_LINES_H
#define TACFS_FS_STORE_LINES_H

/*
 * Small files of the store that people may read: lines "KEY: VALUE" in a fixed
 * order, of which the last is a checksum of all before it. docs/format.md,
 * "FORMAT". The first failure is told in words and sticks.
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/writer.h"

enum { LINES_SIZE_MAX = 4096, LINES_VALUE_SIZE = 128 };

struct lines {
	const char *name; /* of the file, for the words */
	const char *pos;
	const char *end;
	int err;
	char *why; /* the first failure, if there is one */
	size_t why_size;
};

void lines_refuse(struct lines *lines, int err, const char *format, ...)
	__attribute__((format(printf, 3, 4)));

/* The value of the next line, which must be of this key; "" on failure. */
void lines_take(struct lines *lines, const char *key,
		char value[LINES_VALUE_SIZE]);
/* The same, of 16 hex digits. */
uint64_t lines_hex64(struct lines *lines, const char *key);

/* The version in the first line: -ENOTSUP when it is another than `known`. */
void lines_version(struct lines *lines, const char *key, int known);
/* Checks the last line, and takes it off the end. */
void lines_check(struct lines *lines, const void *bytes, size_t size);

/* Writes that last line, for all that was written since `start`. */
void lines_end(struct writer *out, size_t start);

/*
 * Reads such a file in the directory `dir`: -EFBIG for what cannot be one by
 * its kind or size; *owner tells whose it is. Never waits for a FIFO.
 */
int lines_load(int dir, const char *name, char bytes[LINES_SIZE_MAX],
	       size_t *size, uid_t *owner);

#endif
