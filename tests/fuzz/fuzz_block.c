/* SPDX-License-Identifier: Apache-2.0 */
/*
 * An input is {encoding, le16 raw size - 1, le16 reference size, reference,
 * stored form}. It is decoded; then the stored form is taken for raw bytes,
 * which must come back from every way of encoding them.
 */
#include <stdlib.h>
#include <string.h>

#include "codec/block.h"
#include "codec/reader.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

/* So that a sanitizer sees where it ends. */
static uint8_t *exactly(size_t size)
{
	uint8_t *bytes = malloc(size ? size : 1);

	if (!bytes)
		abort();
	return bytes;
}

static void decode(uint8_t encoding, struct reader *in,
		   struct block_reference reference, size_t raw_size)
{
	uint8_t *raw = exactly(raw_size);

	block_decode((enum block_encoding)encoding, in->pos, reader_left(in),
		     reference, raw, raw_size);
	free(raw);
}

static void round_trip(struct reader *in, enum block_effort effort,
		       struct block_reference reference)
{
	size_t size = reader_left(in);
	uint8_t *stored = exactly(BLOCK_MAX);
	uint8_t *back = exactly(size);
	enum block_encoding encoding;
	size_t stored_size;

	if (block_encode(in->pos, size, effort, reference, stored, &stored_size,
			 &encoding) ||
	    stored_size > size ||
	    block_decode(encoding, stored, stored_size, reference, back,
			 size) ||
	    memcmp(in->pos, back, size) != 0)
		abort();
	free(stored);
	free(back);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader in = reader_over(data, size);
	uint8_t encoding = reader_u8(&in);
	size_t raw_size = (size_t)reader_le16(&in) + 1;
	size_t reference_size = reader_le16(&in);
	struct block_reference reference = { reader_take(&in, reference_size),
					     reference_size };
	struct block_reference none = { NULL, 0 };

	if (in.err || !reader_left(&in) || reader_left(&in) > BLOCK_MAX)
		return 0;
	decode(encoding, &in, reference, raw_size);
	round_trip(&in, BLOCK_FAST, none);
	round_trip(&in, BLOCK_FAST, reference);
	round_trip(&in, BLOCK_SMALL, reference);
	return 0;
}
