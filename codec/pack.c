/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/pack.h"

#include <assert.h>
#include <errno.h>
#include <string.h>

#include "codec/reader.h"

static const char header_magic[] = "TACFSPAK";
static const char trailer_magic[] = "TACFSEND";
static const struct digest no_id;

enum {
	MAGIC_SIZE = 8,
	CHECK_SIZE = 8,
	HEADER_RESERVED = 24,
	TRAILER_RESERVED = 24,
	TABLE_HEADER_SIZE = 16,
	BLOCK_ENTRY_SIZE = 56,
	REFERENCE_ENTRY_SIZE = 48
};

static_assert(MAGIC_SIZE + 4 + 4 + DIGEST_SIZE + HEADER_RESERVED + CHECK_SIZE ==
		      PACK_HEADER_SIZE,
	      "pack header layout");
static_assert(MAGIC_SIZE + 4 + 4 + DIGEST_SIZE + 8 + 8 + DIGEST_SIZE +
			      TRAILER_RESERVED + CHECK_SIZE ==
		      PACK_TRAILER_SIZE,
	      "pack trailer layout");

static const uint32_t stored_no_reference = UINT32_MAX;

/* A header and a trailer begin and end alike. */
static void begin_frame(const char *magic, const struct digest *id,
			struct writer *out)
{
	writer_put(out, magic, MAGIC_SIZE);
	writer_le32(out, PACK_VERSION);
	writer_le32(out, 0);
	writer_put(out, id->b, DIGEST_SIZE);
}

static void end_frame(size_t reserved, size_t size, struct writer *out)
{
	uint64_t check = 0;

	writer_fill(out, 0, reserved);
	if (!out->err) {
		size_t covered = size - CHECK_SIZE;

		check = check_of(out->bytes + out->size - covered, covered, 0);
	}
	writer_le64(out, check);
}

void pack_write_header(const struct digest *id, struct writer *out)
{
	begin_frame(header_magic, id, out);
	end_frame(HEADER_RESERVED, PACK_HEADER_SIZE, out);
}

/* Leaves `r` after the id. What fails before the check is damage. */
static void open_frame(struct reader *r, const char *magic, struct digest *id)
{
	size_t covered = reader_left(r) - CHECK_SIZE;
	struct reader end = reader_over(r->pos + covered, CHECK_SIZE);
	uint64_t check = check_of(r->pos, covered, 0);

	if (memcmp(reader_take(r, MAGIC_SIZE), magic, MAGIC_SIZE) != 0)
		reader_fail(r, -EBADMSG, "not part of a pack");
	if (reader_le64(&end) != check)
		reader_fail(r, -EBADMSG, "the checksum is wrong");
	if (reader_le32(r) != PACK_VERSION || reader_le32(r) != 0)
		reader_fail(r, -ENOTSUP, "a newer version");
	reader_copy(r, id->b, DIGEST_SIZE);
	if (digest_equal(id, &no_id))
		reader_fail(r, -EBADMSG, "no id");
}

static void close_frame(struct reader *r, size_t reserved)
{
	for (size_t i = 0; i < reserved; i++)
		if (reader_u8(r))
			reader_fail(r, -ENOTSUP, "a reserved byte is used");
}

int pack_parse_header(const uint8_t header[PACK_HEADER_SIZE], struct digest *id)
{
	struct reader r = reader_over(header, PACK_HEADER_SIZE);
	struct digest read;

	open_frame(&r, header_magic, &read);
	close_frame(&r, HEADER_RESERVED);
	if (r.err)
		return r.err;
	*id = read;
	return 0;
}

static int check_trailer(const struct pack_trailer *trailer, uint64_t file_size)
{
	uint64_t end;

	if (trailer->table_offset < PACK_HEADER_SIZE ||
	    trailer->table_size < TABLE_HEADER_SIZE ||
	    trailer->table_size > PACK_TABLE_MAX)
		return -EBADMSG;
	if (__builtin_add_overflow(trailer->table_offset,
				   trailer->table_size + PACK_TRAILER_SIZE,
				   &end) ||
	    end != file_size)
		return -EBADMSG;
	return 0;
}

int pack_parse_trailer(const uint8_t trailer[PACK_TRAILER_SIZE],
		       uint64_t file_size, struct pack_trailer *out)
{
	struct reader r = reader_over(trailer, PACK_TRAILER_SIZE);
	struct pack_trailer read;
	int err;

	open_frame(&r, trailer_magic, &read.id);
	read.table_offset = reader_le64(&r);
	read.table_size = reader_le64(&r);
	reader_copy(&r, read.table_digest.b, DIGEST_SIZE);
	close_frame(&r, TRAILER_RESERVED);
	if (r.err)
		return r.err;
	err = check_trailer(&read, file_size);
	if (err)
		return err;
	*out = read;
	return 0;
}

static bool size_allowed(uint32_t size)
{
	return size && size <= BLOCK_MAX;
}

/* A reference into this pack must be right, and must not need another. */
static int check_reference(const struct pack_table *t,
			   const struct pack_reference *reference)
{
	const struct pack_block *block;

	if (!size_allowed(reference->id.size) ||
	    digest_equal(&reference->pack, &t->id))
		return -EBADMSG;
	if (!digest_equal(&reference->pack, &no_id))
		return 0;
	if (reference->number >= t->block_count)
		return -EBADMSG;
	block = &t->blocks[reference->number];
	if (block->encoding == BLOCK_LZ4_REFERENCE ||
	    !block_id_equal(&block->id, &reference->id))
		return -EBADMSG;
	return 0;
}

static bool encoding_fits(const struct pack_table *t,
			  const struct pack_block *block)
{
	switch (block->encoding) {
	case BLOCK_RAW:
		return block->stored_size == block->id.size &&
		       block->reference == PACK_NO_REFERENCE;
	case BLOCK_LZ4:
		return block->stored_size < block->id.size &&
		       block->reference == PACK_NO_REFERENCE;
	case BLOCK_LZ4_REFERENCE:
		return block->stored_size < block->id.size &&
		       block->reference >= 0 &&
		       (uint64_t)block->reference < t->reference_count;
	}
	return false;
}

/* *offset is where the block must be, and then where the next must be. */
static int check_block(const struct pack_table *t,
		       const struct pack_block *block, uint64_t *offset)
{
	if (block->offset != *offset || !size_allowed(block->id.size) ||
	    !size_allowed(block->stored_size) || !encoding_fits(t, block))
		return -EBADMSG;
	*offset += block->stored_size;
	return 0;
}

static int check_table(const struct pack_table *t, uint64_t table_offset)
{
	uint64_t offset = PACK_HEADER_SIZE;
	int err;

	for (size_t i = 0; i < t->block_count; i++) {
		err = check_block(t, &t->blocks[i], &offset);
		if (err)
			return err;
	}
	for (size_t i = 0; i < t->reference_count; i++) {
		err = check_reference(t, &t->references[i]);
		if (err)
			return err;
	}
	return offset == table_offset ? 0 : -EBADMSG;
}

static void write_id(const struct block_id *id, struct writer *out)
{
	writer_put(out, id->digest.b, DIGEST_SIZE);
	writer_le64(out, id->check);
}

static void write_block(const struct pack_block *block, struct writer *out)
{
	write_id(&block->id, out);
	writer_le64(out, block->stored_check);
	writer_le64(out, block->offset);
	writer_le32(out, block->id.size);
	writer_le32(out, block->stored_size);
	writer_u8(out, (uint8_t)block->encoding);
	writer_fill(out, 0, 3);
	writer_le32(out, block->reference == PACK_NO_REFERENCE
				 ? stored_no_reference
				 : (uint32_t)block->reference);
}

static void write_reference(const struct pack_reference *reference,
			    struct writer *out)
{
	write_id(&reference->id, out);
	writer_le32(out, reference->id.size);
	writer_le32(out, reference->number);
	writer_put(out, reference->pack.b, DIGEST_SIZE);
}

static void write_table(const struct pack_table *t, struct writer *out)
{
	writer_le32(out, (uint32_t)t->block_count);
	writer_le32(out, (uint32_t)t->reference_count);
	writer_le64(out, 0);
	for (size_t i = 0; i < t->block_count; i++)
		write_block(&t->blocks[i], out);
	for (size_t i = 0; i < t->reference_count; i++)
		write_reference(&t->references[i], out);
}

static uint64_t table_size(const struct pack_table *t)
{
	return TABLE_HEADER_SIZE + (uint64_t)t->block_count * BLOCK_ENTRY_SIZE +
	       (uint64_t)t->reference_count * REFERENCE_ENTRY_SIZE;
}

static bool counts_allowed(const struct pack_table *t)
{
	return t->block_count <= PACK_TABLE_MAX / BLOCK_ENTRY_SIZE &&
	       t->reference_count <= PACK_TABLE_MAX / REFERENCE_ENTRY_SIZE &&
	       table_size(t) <= PACK_TABLE_MAX;
}

int pack_write_end(const struct pack_table *table, uint64_t table_offset,
		   struct writer *out)
{
	size_t start = out->size;
	struct digest digest = no_id;

	if (digest_equal(&table->id, &no_id) || !counts_allowed(table) ||
	    check_table(table, table_offset))
		return -EINVAL;
	write_table(table, out);
	if (!out->err)
		digest = digest_of(out->bytes + start, out->size - start);
	begin_frame(trailer_magic, &table->id, out);
	writer_le64(out, table_offset);
	writer_le64(out, table_size(table));
	writer_put(out, digest.b, DIGEST_SIZE);
	end_frame(TRAILER_RESERVED, PACK_TRAILER_SIZE, out);
	return out->err;
}

static void read_id(struct reader *r, struct block_id *id)
{
	reader_copy(r, id->digest.b, DIGEST_SIZE);
	id->check = reader_le64(r);
}

static enum block_encoding read_encoding(struct reader *r)
{
	uint8_t encoding = reader_u8(r);

	if (encoding > BLOCK_LZ4_REFERENCE)
		reader_fail(r, -ENOTSUP, "an unknown encoding");
	close_frame(r, 3);
	return (enum block_encoding)encoding;
}

static void read_block(struct reader *r, struct pack_block *block)
{
	uint32_t reference;

	read_id(r, &block->id);
	block->stored_check = reader_le64(r);
	block->offset = reader_le64(r);
	block->id.size = reader_le32(r);
	block->stored_size = reader_le32(r);
	block->encoding = read_encoding(r);
	reference = reader_le32(r);
	block->reference = reference == stored_no_reference
				   ? PACK_NO_REFERENCE
				   : (int64_t)reference;
}

static void read_reference(struct reader *r, struct pack_reference *reference)
{
	read_id(r, &reference->id);
	reference->id.size = reader_le32(r);
	reference->number = reader_le32(r);
	reader_copy(r, reference->pack.b, DIGEST_SIZE);
}

/* Both counts are proved by the size of the table before they size anything. */
static int read_table(struct reader *r, struct arena *arena,
		      struct pack_table *t)
{
	uint64_t size = reader_left(r);

	t->block_count = reader_count(r, BLOCK_ENTRY_SIZE);
	t->reference_count = reader_count(r, REFERENCE_ENTRY_SIZE);
	if (!r->err && table_size(t) != size)
		return -EBADMSG;
	if (reader_le64(r))
		return -ENOTSUP;
	if (r->err)
		return r->err;
	t->blocks = arena_array(arena, t->block_count, sizeof(*t->blocks));
	t->references =
		arena_array(arena, t->reference_count, sizeof(*t->references));
	if (!t->blocks || !t->references)
		return -ENOMEM;
	for (size_t i = 0; i < t->block_count; i++)
		read_block(r, &t->blocks[i]);
	for (size_t i = 0; i < t->reference_count; i++)
		read_reference(r, &t->references[i]);
	return r->err;
}

int pack_parse_table(const void *bytes, const struct pack_trailer *trailer,
		     struct arena *arena, struct pack_table *out)
{
	size_t size = (size_t)trailer->table_size;
	struct reader r = reader_over(bytes, size);
	struct digest digest = digest_of(bytes, size);
	struct pack_table t = { .id = trailer->id };
	int err;

	if (!digest_equal(&digest, &trailer->table_digest))
		return -EBADMSG;
	err = read_table(&r, arena, &t);
	if (!err)
		err = check_table(&t, trailer->table_offset);
	if (err)
		return err;
	*out = t;
	return 0;
}
