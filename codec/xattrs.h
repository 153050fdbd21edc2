/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_XATTRS_H
#define TACFS_CODEC_XATTRS_H

/*
 * The extended attributes of one file, as bytes: the way they lie in its
 * manifest, and in memory too. They are few and small, so they are found by
 * walking over them. docs/format.md, "Manifests".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/writer.h"

enum {
	XATTRS_NAME_MAX = 255,
	XATTRS_VALUE_MAX = 64 * 1024,
	XATTRS_LIST_MAX = 64 * 1024, /* names, a NUL behind each: what Linux
					lists */
	XATTRS_MAX = 1024 * 1024     /* all of it */
};

/* What users name theirs; what tacfs says itself, which is never stored. */
#define XATTRS_PREFIX	"user."
#define XATTRS_RESERVED "user.tacfs."

/* All attributes of a file, borrowed. No bytes: there are none. */
struct xattrs {
	const uint8_t *bytes;
	size_t size;
};

/* One of them, in those bytes. */
struct xattr {
	const char *name; /* ends with NUL */
	const uint8_t *value;
	size_t size; /* of the value */
};

/*
 * What a manifest may not say, or NULL. The functions below are for attributes
 * of which this found nothing.
 */
const char *xattrs_fault(struct xattrs all);

/* The one behind *at, or the first when at->name is NULL; false at the end. */
bool xattrs_next(struct xattrs all, struct xattr *at);
bool xattrs_find(struct xattrs all, const char *name, struct xattr *out);
bool xattrs_equal(struct xattrs a, struct xattrs b);

struct xattr_change {
	const char *name;
	const void *value; /* NULL: it is removed */
	size_t size;
	bool create;  /* it must not be there */
	bool replace; /* it must be there */
};

/*
 * Writes the attributes as they are after the change. Returns 0; -EEXIST and
 * -ENODATA as setxattr(2); -EINVAL for a name that a manifest may not have;
 * -E2BIG for too large a value, too many of them, or more than the writer
 * takes; -ENOMEM.
 */
int xattrs_change(struct xattrs all, const struct xattr_change *change,
		  struct writer *out);

#endif
