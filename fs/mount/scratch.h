/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_SCRATCH_H
#define TACFS_FS_MOUNT_SCRATCH_H

/*
 * Content that is being written: a nameless file in the store's tmp/, so that
 * nothing is left of it when the daemon dies. There is none until the first
 * byte is written, and it need not be open (see spill.h).
 *
 * Reads, and writes, may run at once; nothing else may run beside
 * scratch_resize() or scratch_map().
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/mount/spill.h"
#include "fs/store/version.h"

struct scratch;

/* All of a mount. */
struct scratches {
	struct store *store;
	bool in_memory; /* they move there when tmp/ has no space for them */
	struct spills spills;
};

/* 0 or a negative errno. */
int scratches_init(struct scratches *all, struct store *store);
void scratches_free(struct scratches *all);

/* Empty content; NULL without memory. */
struct scratch *scratch_new(struct scratches *all);
void scratch_free(struct scratch *c); /* NULL is fine */

/* Content that starts as a copy of a version. 0, or a negative errno. */
int scratch_copy(struct scratches *all, struct version *v,
		 struct scratch **out);

/* 0, or a negative errno. */
int scratch_size(struct scratch *c, uint64_t *size);
/* With what it takes on disk: less than its size when it has holes. */
int scratch_measure(struct scratch *c, uint64_t *size, uint64_t *stored);
/*
 * Its file, of scratch_size() bytes, until scratch_end(). -ENODATA while it is
 * empty, or another negative errno; then without scratch_end().
 */
int scratch_begin(struct scratch *c);
void scratch_end(struct scratch *c);

ssize_t scratch_read(struct scratch *c, uint64_t offset, void *bytes,
		     size_t size);
int scratch_write(struct scratch *c, uint64_t offset, const void *bytes,
		  size_t size);
int scratch_resize(struct scratch *c, uint64_t size);
/* As fallocate(2); nothing may run beside it. */
int scratch_allocate(struct scratch *c, int mode, uint64_t offset,
		     uint64_t size);
/* As lseek(2) with SEEK_DATA or SEEK_HOLE. */
int scratch_seek(struct scratch *c, uint64_t offset, int whence, uint64_t *at);

/*
 * All bytes, read-only; end with scratch_unmap(). Up to SCRATCH_COPY_MAX bytes
 * are read into memory, since a mapping turns a full or failing disk into
 * SIGBUS. More are mapped, after their holes were filled. 0 or a negative
 * errno, -ENOSPC among them.
 */
enum { SCRATCH_COPY_MAX = 64 * 1024 * 1024 };

struct scratch_view {
	const void *bytes;
	size_t size;
};

int scratch_map(struct scratch *c, struct scratch_view *view);
void scratch_unmap(struct scratch_view *view);

#endif
