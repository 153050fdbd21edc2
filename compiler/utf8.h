/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_UTF8_H
#define TACFS_COMPILER_UTF8_H

/*
 * UTF-8 as pickle and marshal write it: with Python's "surrogatepass", which
 * lets a lone surrogate through as three bytes (ED A0..BF xx).
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/writer.h"

/* A piece of a decoder's input, or of its arena. */
struct text {
	const uint8_t *bytes;
	size_t size;
};

bool text_equals(struct text text, const char *other);

/*
 * The size of the sequence at the start of `size` bytes, and its code point; 0
 * when it is cut off, overlong, beyond U+10FFFF, or none at all.
 */
size_t utf8_next(const uint8_t *bytes, size_t size, uint32_t *point);

bool utf8_valid(const uint8_t *bytes, size_t size);

/*
 * Writes valid UTF-8 with U+FFFD in place of each surrogate, which a file
 * cannot hold.
 */
void utf8_put(struct writer *out, struct text text);

#endif
