/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_CONTENT_H
#define TACFS_FS_MOUNT_CONTENT_H

/*
 * Content that is being written: a nameless file in the store's tmp/, so that
 * nothing is left of it when the daemon dies. It has no descriptor until the
 * first byte is written.
 *
 * Reads, and writes, may run at once; nothing else may run beside
 * content_resize() or content_map().
 */

#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/store/version.h"

struct content;

/* Empty content; NULL without memory. */
struct content *content_new(struct store *store);
void content_free(struct content *c); /* NULL is fine */

/* Content that starts as a copy of a version. 0, or a negative errno. */
int content_copy(struct store *store, struct version *v, struct content **out);

uint64_t content_size(const struct content *c);
/* Its file, of content_size() bytes; -1 while it is empty. Borrowed. */
int content_fd(const struct content *c);

ssize_t content_read(const struct content *c, uint64_t offset, void *bytes,
		     size_t size);
int content_write(struct content *c, uint64_t offset, const void *bytes,
		  size_t size);
int content_resize(struct content *c, uint64_t size);

/* All bytes, read-only; unmap with content_unmap(). Empty content: size 0. */
struct content_view {
	const void *bytes;
	size_t size;
};

int content_map(const struct content *c, struct content_view *view);
void content_unmap(struct content_view *view);

#endif
