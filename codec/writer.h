/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_WRITER_H
#define TACFS_CODEC_WRITER_H

/*
 * A writer collects output in memory that it owns, up to a limit. Like a
 * reader, its first failure sticks: what was written up to there stays, later
 * writes do nothing, and one check of `err` at the end is enough.
 */

#include <stddef.h>
#include <stdint.h>

struct writer {
	uint8_t *bytes;
	size_t size;
	size_t capacity;
	size_t limit; /* of `size` */
	int err;      /* 0, -ENOMEM, or -EFBIG when the limit was met */
};

/* A writer that will hold at most `limit` bytes. Allocates nothing yet. */
struct writer writer_upto(size_t limit);
void writer_free(struct writer *w);

/* Gives the bytes to the caller, who frees them; NULL when nothing is there. */
uint8_t *writer_take(struct writer *w, size_t *size);

/* Forgets what was written after `size`, and -EFBIG, if that was met, too. */
void writer_cut(struct writer *w, size_t size);

void writer_put(struct writer *w, const void *bytes, size_t size);
void writer_fill(struct writer *w, uint8_t byte, size_t count);
void writer_u8(struct writer *w, uint8_t v);
void writer_le16(struct writer *w, uint16_t v);
void writer_le32(struct writer *w, uint32_t v);
void writer_le64(struct writer *w, uint64_t v);
void writer_string(struct writer *w, const char *text);
/* A piece of at most 511 bytes; a longer one fails with -EFBIG. */
void writer_printf(struct writer *w, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

#endif
