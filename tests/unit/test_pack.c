/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/le.h"
#include "codec/pack.h"
#include "tests/unit/reseal.h"
#include "tests/unit/samples.h"

enum { ARENA_LIMIT = 1 << 20, ENTRY_SIZE = 56, TABLE_HEADER = 16 };

static int make_sample(void **state)
{
	struct sample_pack *p = malloc(sizeof(*p));

	if (!p)
		return -1;
	sample_pack_make(p);
	*state = p;
	return 0;
}

static int free_sample(void **state)
{
	sample_pack_free(*state);
	free(*state);
	return 0;
}

static int verdict_on(const uint8_t *file, size_t size)
{
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct pack_table table;
	int err = sample_pack_parse(file, size, &arena, &table);

	arena_free(&arena);
	return err;
}

static void assert_same_block(const struct pack_block *a,
			      const struct pack_block *b)
{
	assert_true(block_id_equal(&a->id, &b->id));
	assert_int_equal(a->offset, b->offset);
	assert_int_equal(a->stored_check, b->stored_check);
	assert_int_equal(a->stored_size, b->stored_size);
	assert_int_equal(a->encoding, b->encoding);
	assert_int_equal(a->reference, b->reference);
}

static void a_pack_comes_back(void **state)
{
	const struct sample_pack *p = *state;
	struct arena arena = arena_upto(ARENA_LIMIT);
	struct pack_table t;

	assert_int_equal(
		sample_pack_parse(p->file.bytes, p->file.size, &arena, &t), 0);
	assert_true(digest_equal(&t.id, &p->table.id));
	assert_int_equal(t.block_count, SAMPLE_BLOCKS);
	for (size_t i = 0; i < SAMPLE_BLOCKS; i++)
		assert_same_block(&t.blocks[i], &p->blocks[i]);
	assert_int_equal(t.reference_count, SAMPLE_REFERENCES);
	for (size_t i = 0; i < SAMPLE_REFERENCES; i++) {
		const struct pack_reference *a = &t.references[i];
		const struct pack_reference *b = &p->references[i];

		assert_true(block_id_equal(&a->id, &b->id));
		assert_true(digest_equal(&a->pack, &b->pack));
		assert_int_equal(a->number, b->number);
	}
	arena_free(&arena);
}

static void the_blocks_of_a_pack_come_back(void **state)
{
	const struct sample_pack *p = *state;
	const struct block_reference references[SAMPLE_BLOCKS] = {
		[2] = { p->raw[0], SAMPLE_BLOCK_SIZE },
		[3] = { p->foreign, SAMPLE_BLOCK_SIZE },
	};
	const enum block_encoding encodings[SAMPLE_BLOCKS] = {
		BLOCK_RAW, BLOCK_LZ4, BLOCK_LZ4_REFERENCE, BLOCK_LZ4_REFERENCE
	};

	for (size_t i = 0; i < SAMPLE_BLOCKS; i++) {
		const struct pack_block *b = &p->blocks[i];
		const uint8_t *stored = p->file.bytes + b->offset;
		uint8_t raw[SAMPLE_BLOCK_SIZE];

		assert_int_equal(b->encoding, encodings[i]);
		assert_int_equal(check_of(stored, b->stored_size, 0),
				 b->stored_check);
		assert_int_equal(block_decode(b->encoding, stored,
					      b->stored_size, references[i],
					      raw, sizeof(raw)),
				 0);
		assert_memory_equal(raw, p->raw[i], sizeof(raw));
	}
}

static void a_pack_without_blocks_comes_back(void **state)
{
	struct pack_table none = { .id = { { 1 } } };
	struct writer file = writer_upto(1024);

	(void)state;
	pack_write_header(&none.id, &file);
	assert_int_equal(pack_write_end(&none, file.size, &file), 0);
	assert_int_equal(verdict_on(file.bytes, file.size), 0);
	writer_free(&file);
}

static void any_changed_bit_outside_the_blocks_is_damage(void **state)
{
	struct sample_pack *p = *state;

	for (size_t i = 0; i < p->file.size; i++) {
		if (i >= PACK_HEADER_SIZE && i < p->table_offset)
			continue;
		for (int bit = 0; bit < 8; bit++) {
			p->file.bytes[i] ^= (uint8_t)(1 << bit);
			assert_int_equal(
				verdict_on(p->file.bytes, p->file.size),
				-EBADMSG);
			p->file.bytes[i] ^= (uint8_t)(1 << bit);
		}
	}
}

static void a_pack_cut_at_any_length_is_damage(void **state)
{
	const struct sample_pack *p = *state;

	for (size_t size = 0; size < p->file.size; size++) {
		uint8_t *cut = malloc(size + 1);

		assert_non_null(cut);
		memcpy(cut, p->file.bytes, size);
		assert_int_equal(verdict_on(cut, size), -EBADMSG);
		free(cut);
	}
}

/* A number put somewhere, with all checksums right, and what is made of it. */
struct change {
	enum { HEADER, TABLE, TRAILER } part;
	size_t at;
	size_t size;
	uint64_t value;
	int err;
};

enum {
	ENTRY0 = TABLE_HEADER,
	ENTRY2 = TABLE_HEADER + 2 * ENTRY_SIZE,
	REFERENCE0 = TABLE_HEADER + SAMPLE_BLOCKS * ENTRY_SIZE,
	CHECK_AT = 16,
	OFFSET_AT = 32,
	SIZE_AT = 40,
	STORED_AT = 44,
	ENCODING_AT = 48,
	REFERENCE_AT = 52,
	REF_SIZE_AT = 24,
	REF_NUMBER_AT = 28,
	REF_PACK_AT = 32
};

static const struct change changes[] = {
	{ HEADER, 8, 4, 2, -ENOTSUP }, /* version */
	{ HEADER, 8, 4, 0, -ENOTSUP },
	{ HEADER, 12, 4, 1, -ENOTSUP },	 /* flags */
	{ HEADER, 16, 16, 0, -EBADMSG }, /* no id */
	{ HEADER, 16, 4, 9, -EBADMSG },	 /* not the trailer's id */
	{ HEADER, 40, 1, 1, -ENOTSUP },	 /* reserved */
	{ TRAILER, 0, 1, 'X', -EBADMSG },
	{ TRAILER, 8, 4, 2, -ENOTSUP },
	{ TRAILER, 12, 4, 0x80000000, -ENOTSUP },
	{ TRAILER, 16, 16, 0, -EBADMSG },
	{ TRAILER, 32, 8, UINT64_MAX - 64, -EBADMSG }, /* table offset */
	{ TRAILER, 32, 8, 0, -EBADMSG },
	{ TRAILER, 87, 1, 1, -ENOTSUP },
	{ TABLE, 0, 4, SAMPLE_BLOCKS - 1, -EBADMSG },
	{ TABLE, 0, 4, UINT32_MAX, -EBADMSG },
	{ TABLE, 4, 4, SAMPLE_REFERENCES + 1, -EBADMSG },
	{ TABLE, 4, 4, UINT32_MAX, -EBADMSG },
	{ TABLE, 8, 8, 1, -ENOTSUP },
	{ TABLE, ENTRY0 + OFFSET_AT, 8, PACK_HEADER_SIZE + 1, -EBADMSG },
	{ TABLE, ENTRY0 + OFFSET_AT, 8, UINT64_MAX, -EBADMSG },
	{ TABLE, ENTRY0 + SIZE_AT, 4, 0, -EBADMSG },
	{ TABLE, ENTRY0 + SIZE_AT, 4, BLOCK_MAX + 1, -EBADMSG },
	{ TABLE, ENTRY0 + SIZE_AT, 4, SAMPLE_BLOCK_SIZE - 1, -EBADMSG },
	{ TABLE, ENTRY0 + STORED_AT, 4, 0, -EBADMSG },
	{ TABLE, ENTRY0 + STORED_AT, 4, SAMPLE_BLOCK_SIZE + 1, -EBADMSG },
	{ TABLE, ENTRY0 + ENCODING_AT, 1, BLOCK_LZ4, -EBADMSG },
	{ TABLE, ENTRY0 + ENCODING_AT, 1, 3, -ENOTSUP },
	{ TABLE, ENTRY0 + ENCODING_AT + 1, 1, 1, -ENOTSUP },
	{ TABLE, ENTRY0 + REFERENCE_AT, 4, 0, -EBADMSG },
	{ TABLE, ENTRY2 + REFERENCE_AT, 4, UINT32_MAX, -EBADMSG },
	{ TABLE, ENTRY2 + REFERENCE_AT, 4, SAMPLE_REFERENCES, -EBADMSG },
	{ TABLE, REFERENCE0 + CHECK_AT, 8, 5, -EBADMSG }, /* another block */
	{ TABLE, REFERENCE0 + REF_SIZE_AT, 4, 0, -EBADMSG },
	{ TABLE, REFERENCE0 + REF_SIZE_AT, 4, BLOCK_MAX + 1, -EBADMSG },
	{ TABLE, REFERENCE0 + REF_NUMBER_AT, 4, SAMPLE_BLOCKS, -EBADMSG },
	{ TABLE, REFERENCE0 + REF_NUMBER_AT, 4, 1, -EBADMSG },
	{ TABLE, REFERENCE0 + REF_PACK_AT, 1, 1, 0 }, /* just another pack */
};

static uint8_t *part_of(const struct sample_pack *p, const struct change *c)
{
	switch (c->part) {
	case HEADER:
		return p->file.bytes;
	case TABLE:
		return p->file.bytes + p->table_offset;
	case TRAILER:
		return p->file.bytes + p->file.size - PACK_TRAILER_SIZE;
	}
	return NULL;
}

static void each_rule_of_the_format_is_enforced(void **state)
{
	const struct sample_pack *p = *state;
	uint8_t *kept = malloc(p->file.size);

	assert_non_null(kept);
	memcpy(kept, p->file.bytes, p->file.size);
	for (size_t i = 0; i < sizeof(changes) / sizeof(changes[0]); i++) {
		const struct change *c = &changes[i];
		uint8_t *at = part_of(p, c) + c->at;
		int err;

		for (size_t k = 0; k < c->size; k++)
			at[k] = (uint8_t)(k < 8 ? c->value >> (8 * k) : 0);
		reseal_pack(p->file.bytes, p->file.size);
		err = verdict_on(p->file.bytes, p->file.size);
		if (err != c->err)
			fail_msg("change %zu: %d instead of %d", i, err,
				 c->err);
		memcpy(p->file.bytes, kept, p->file.size);
	}
	free(kept);
}

static void a_block_may_not_refer_to_one_that_refers(void **state)
{
	struct sample_pack *p = *state;
	uint8_t *reference = p->file.bytes + p->table_offset + REFERENCE0;
	uint8_t *block = p->file.bytes + p->table_offset + ENTRY0 +
			 (size_t)3 * ENTRY_SIZE;

	memcpy(reference, block, CHECK_AT + 8); /* what block 3 is */
	reference[REF_NUMBER_AT] = 3;
	reseal_pack(p->file.bytes, p->file.size);
	assert_int_equal(verdict_on(p->file.bytes, p->file.size), -EBADMSG);
}

static void a_pack_may_not_name_itself_but_by_zero(void **state)
{
	struct sample_pack *p = *state;
	uint8_t *pack =
		p->file.bytes + p->table_offset + REFERENCE0 + REF_PACK_AT;

	memcpy(pack, p->table.id.b, DIGEST_SIZE);
	reseal_pack(p->file.bytes, p->file.size);
	assert_int_equal(verdict_on(p->file.bytes, p->file.size), -EBADMSG);
}

static void the_writer_refuses_what_the_reader_would(void **state)
{
	struct sample_pack *p = *state;
	struct writer out = writer_upto(4096);
	struct pack_table t = p->table;

	assert_int_equal(pack_write_end(&t, p->table_offset + 1, &out),
			 -EINVAL);
	t.id = (struct digest){ { 0 } };
	assert_int_equal(pack_write_end(&t, p->table_offset, &out), -EINVAL);
	t = p->table;
	t.reference_count = 1;
	assert_int_equal(pack_write_end(&t, p->table_offset, &out), -EINVAL);
	p->blocks[1].stored_size--;
	assert_int_equal(pack_write_end(&p->table, p->table_offset, &out),
			 -EINVAL);
	assert_int_equal(out.size, 0);
	writer_free(&out);
}

static void a_full_writer_is_reported(void **state)
{
	const struct sample_pack *p = *state;

	for (size_t limit = 0; limit < p->file.size - p->table_offset;
	     limit += 7) {
		struct writer out = writer_upto(limit);

		assert_int_equal(
			pack_write_end(&p->table, p->table_offset, &out),
			-EFBIG);
		writer_free(&out);
	}
}

/* The table's own size bounds its counts, so memory is not even asked for. */
static void counts_are_checked_before_anything_is_allocated(void **state)
{
	uint8_t bytes[TABLE_HEADER] = { 0 };
	struct pack_trailer trailer = { .table_offset = PACK_HEADER_SIZE,
					.table_size = sizeof(bytes) };
	struct arena arena = arena_upto(SIZE_MAX);
	struct pack_table t;

	(void)state;
	for (size_t i = 0; i < 8; i++) {
		memset(bytes, 0, sizeof(bytes));
		bytes[i] = 0x7f;
		trailer.table_digest = digest_of(bytes, sizeof(bytes));
		assert_int_equal(pack_parse_table(bytes, &trailer, &arena, &t),
				 -EBADMSG);
		assert_int_equal(arena.used, 0);
	}
	arena_free(&arena);
}

static void a_small_arena_is_out_of_memory(void **state)
{
	const struct sample_pack *p = *state;
	struct arena arena = arena_upto(64);
	struct pack_table t = { .block_count = 99 };

	assert_int_equal(
		sample_pack_parse(p->file.bytes, p->file.size, &arena, &t),
		-ENOMEM);
	assert_int_equal(t.block_count, 99);
	arena_free(&arena);
}

#define WITH_SAMPLE(test)                                                      \
	cmocka_unit_test_setup_teardown(test, make_sample, free_sample)

int main(void)
{
	const struct CMUnitTest tests[] = {
		WITH_SAMPLE(a_pack_comes_back),
		WITH_SAMPLE(the_blocks_of_a_pack_come_back),
		WITH_SAMPLE(a_pack_without_blocks_comes_back),
		WITH_SAMPLE(any_changed_bit_outside_the_blocks_is_damage),
		WITH_SAMPLE(a_pack_cut_at_any_length_is_damage),
		WITH_SAMPLE(each_rule_of_the_format_is_enforced),
		WITH_SAMPLE(a_block_may_not_refer_to_one_that_refers),
		WITH_SAMPLE(a_pack_may_not_name_itself_but_by_zero),
		WITH_SAMPLE(the_writer_refuses_what_the_reader_would),
		WITH_SAMPLE(a_full_writer_is_reported),
		WITH_SAMPLE(counts_are_checked_before_anything_is_allocated),
		WITH_SAMPLE(a_small_arena_is_out_of_memory),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
