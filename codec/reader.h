/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_READER_H
#define TACFS_CODEC_READER_H

/*
 * A reader walks over bytes that nobody trusts. Its first failure sticks: every
 * later read gives zero (or NULL), so a decoder reads a record in straight
 * lines and checks `err` once, before it acts on what it read.
 *
 * The reader borrows its input; pointers it returns point into that input.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

struct reader {
	const uint8_t *start;
	const uint8_t *pos;
	const uint8_t *end;
	int err;	 /* 0, or the first failure as -errno */
	const char *why; /* that failure in words, a static string */
	size_t where;	 /* its offset in the input */
};

struct reader reader_over(const void *bytes, size_t size);

/* Records a failure at the current position, unless one is there already. */
void reader_fail(struct reader *r, int err, const char *why);

size_t reader_left(const struct reader *r);
size_t reader_offset(const struct reader *r);

/* These fail with -EBADMSG, and return 0, when the input ends before. */
uint8_t reader_u8(struct reader *r);
uint16_t reader_le16(struct reader *r);
uint32_t reader_le32(struct reader *r);
uint64_t reader_le64(struct reader *r);

/* The next `size` bytes, in the input; NULL, and -EBADMSG, when it ends. */
const uint8_t *reader_take(struct reader *r, size_t size);

/* Copies the next `size` bytes out; zeroes, and -EBADMSG, when it ends. */
void reader_copy(struct reader *r, void *to, size_t size);

/*
 * An le32 count of elements, each at least `min_size` bytes of further input.
 * Fails unless that many can still follow, so what it returns is never more
 * than the input could hold and is safe to size an allocation with.
 */
size_t reader_count(struct reader *r, size_t min_size);

#endif
