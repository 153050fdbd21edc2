/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_FORMAT_H
#define TACFS_FS_STORE_FORMAT_H

/*
 * The file FORMAT at the top of a store: a few lines of text that say what the
 * store is and what a program must know to use it. It is made once and never
 * changes. docs/format.md, "FORMAT".
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "codec/writer.h"

enum { FORMAT_VERSION = 1, FORMAT_SIZE_MAX = 4096, FORMAT_UUID_SIZE = 37 };

/* What a program must know; docs/format.md, "Features". */
enum format_feature {
	FORMAT_COLLECT = 1 << 0, /* programs may delete packs */
	FORMAT_SHARED = 1 << 1	 /* several users write */
};

struct format {
	char uuid[FORMAT_UUID_SIZE];
	uint64_t seed;	   /* of check_of() for the blocks of this store */
	unsigned features; /* a set of enum format_feature */
};

/*
 * Reads the text of FORMAT. Returns 0; -EBADMSG when it is damaged; -ENOTSUP
 * when the store needs a program that knows more than this one. On failure
 * `why` says what is wrong, naming the value.
 */
int format_parse(const void *bytes, size_t size, struct format *out, char *why,
		 size_t why_size);
void format_write(const struct format *format, struct writer *out);

/* Reads FORMAT in the directory `root`. As above; -ENOENT; other errnos. */
int format_load(int root, struct format *out, char *why, size_t why_size);

/*
 * Makes FORMAT with these features in `root`, by way of the directory `tmp`,
 * unless somebody else is faster: that is a success too, and format_load()
 * reads what there is then.
 */
int format_make(int root, int tmp, mode_t mode, unsigned features);

#endif
