/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A whole pack, as it is and with its checksums made right. What the reader
 * accepts the writer must write back as it was, and the stored blocks must
 * decode or be refused.
 */
#include <stdlib.h>
#include <string.h>

#include "tests/unit/reseal.h"
#include "tests/unit/samples.h"

enum { ARENA_LIMIT = 1 << 24 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void write_back(const uint8_t *data, size_t size,
		       const struct pack_table *table, uint64_t offset)
{
	struct writer file = writer_upto(size);

	pack_write_header(&table->id, &file);
	writer_put(&file, data + file.size, (size_t)offset - file.size);
	if (pack_write_end(table, offset, &file) || file.size != size ||
	    memcmp(file.bytes, data, size) != 0)
		abort();
	writer_free(&file);
}

static void decode_all(const uint8_t *data, const struct pack_table *table)
{
	uint8_t *raw = malloc(BLOCK_MAX);

	if (!raw)
		abort();
	for (size_t i = 0; i < table->block_count; i++) {
		const struct pack_block *b = &table->blocks[i];
		struct block_reference reference = { data, PACK_HEADER_SIZE };

		block_decode(b->encoding, data + b->offset, b->stored_size,
			     reference, raw, b->id.size);
	}
	free(raw);
}

static void try(const uint8_t *data, size_t size)
{
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct pack_table table;
	struct pack_trailer trailer;

	if (!sample_pack_parse(data, size, &arena, &table) &&
	    !pack_parse_trailer(data + size - PACK_TRAILER_SIZE, size,
				&trailer)) {
		decode_all(data, &table);
		write_back(data, size, &table, trailer.table_offset);
	}
	arena_free(&arena);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer copy = writer_upto(size);

	try(data, size);
	writer_put(&copy, data, size);
	reseal_pack(copy.bytes, copy.size);
	try(copy.bytes, copy.size);
	writer_free(&copy);
	return 0;
}
