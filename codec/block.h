/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_BLOCK_H
#define TACFS_CODEC_BLOCK_H

/*
 * A block is one chunk as it rests in a pack: raw, LZ4, or LZ4 against the raw
 * content of another block. docs/format.md, "Blocks".
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/digest.h"

enum {
	BLOCK_MAX = 64 * 1024 /* raw bytes; a stored form is never larger */
};

enum block_encoding { BLOCK_RAW = 0, BLOCK_LZ4 = 1, BLOCK_LZ4_REFERENCE = 2 };

/* How much time encoding may take. */
enum block_effort { BLOCK_FAST, BLOCK_SMALL };

/* What a block is, however and wherever it is stored. */
struct block_id {
	struct digest digest; /* of the raw bytes */
	uint64_t check;	      /* check_of() them, with the store's seed */
	uint32_t size;	      /* how many they are: 1 to BLOCK_MAX */
};

struct block_id block_id_of(const void *raw, size_t size, uint64_t seed);
bool block_id_equal(const struct block_id *a, const struct block_id *b);

/*
 * Borrowed raw bytes of another block, at most BLOCK_MAX, or { NULL, 0 } for
 * none. A reference must itself be stored without one.
 */
struct block_reference {
	const void *bytes;
	size_t size;
};

/*
 * Encodes `raw` (1 to BLOCK_MAX bytes) into `stored` (room for BLOCK_MAX) in
 * the smallest of the encodings that apply: BLOCK_RAW unless another gains, and
 * the reference only if it saves more than its entry in a pack's table takes.
 * Returns 0, or -ENOMEM.
 */
int block_encode(const void *raw, size_t size, enum block_effort effort,
		 struct block_reference reference, void *stored,
		 size_t *stored_size, enum block_encoding *encoding);

/*
 * Decodes into exactly `size` raw bytes. Returns 0, or -EBADMSG when the stored
 * form does not decode to just that many. Does not check the raw bytes against
 * an id: the caller does.
 */
int block_decode(enum block_encoding encoding, const void *stored,
		 size_t stored_size, struct block_reference reference,
		 void *raw, size_t size);

#endif
