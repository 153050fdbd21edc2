/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/block.h"
#include "tests/unit/samples.h"

static const struct block_reference none;

/* Heap memory of just the sizes needed, so that a sanitizer sees their ends. */
struct buffers {
	uint8_t *raw;
	uint8_t *stored;
	uint8_t *back;
};

static struct buffers buffers_of(size_t size)
{
	struct buffers b = { malloc(size), malloc(BLOCK_MAX), malloc(size) };

	assert_non_null(b.raw);
	assert_non_null(b.stored);
	assert_non_null(b.back);
	return b;
}

static void buffers_free(struct buffers *b)
{
	free(b->raw);
	free(b->stored);
	free(b->back);
}

static void fill_text(uint8_t *bytes, size_t size, uint32_t seed)
{
	static const char words[8][9] = {
		"tensor  ", "kernel  ", "stream  ", "self._x=",
		"return  ", "import  ", "assert  ", "if size ",
	};

	for (size_t i = 0; i < size; i++) {
		if (i % 8 == 0)
			seed = seed * 1664525 + 1013904223;
		bytes[i] = (uint8_t)words[seed >> 29][i % 8];
	}
}

static void fill_zero(uint8_t *bytes, size_t size, uint32_t seed)
{
	(void)seed;
	memset(bytes, 0, size);
}

static void (*const fills[])(uint8_t *, size_t,
			     uint32_t) = { sample_fill, fill_text, fill_zero };
enum { FILLS = sizeof(fills) / sizeof(fills[0]) };

static const enum block_effort efforts[] = { BLOCK_FAST, BLOCK_SMALL };
static const size_t sizes[] = {
	1, 2, 5, 13, 100, 4096, 16384, 65535, BLOCK_MAX
};
enum { SIZES = sizeof(sizes) / sizeof(sizes[0]) };

static enum block_encoding round_trip(const struct buffers *b, size_t size,
				      enum block_effort effort,
				      struct block_reference reference,
				      size_t *stored_size)
{
	enum block_encoding encoding;

	assert_int_equal(block_encode(b->raw, size, effort, reference,
				      b->stored, stored_size, &encoding),
			 0);
	assert_in_range(*stored_size, 1, size);
	assert_int_equal(block_decode(encoding, b->stored, *stored_size,
				      reference, b->back, size),
			 0);
	assert_memory_equal(b->raw, b->back, size);
	return encoding;
}

static void blocks_of_any_size_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < (size_t)SIZES * FILLS; i++) {
		size_t size = sizes[i / FILLS];
		struct buffers b = buffers_of(size);
		size_t stored;

		fills[i % FILLS](b.raw, size, 3);
		for (size_t k = 0; k < 2; k++)
			round_trip(&b, size, efforts[k], none, &stored);
		buffers_free(&b);
	}
}

static void blocks_with_a_reference_of_any_size_come_back(void **state)
{
	(void)state;
	for (size_t i = 0; i < (size_t)SIZES * SIZES * FILLS; i++) {
		size_t size = sizes[i / FILLS % SIZES];
		size_t other = sizes[i / FILLS / SIZES];
		struct buffers b = buffers_of(size);
		uint8_t *dictionary = malloc(other);
		size_t stored;

		assert_non_null(dictionary);
		fills[i % FILLS](b.raw, size, 3);
		fills[i % FILLS](dictionary, other, 3);
		for (size_t k = 0; k < 2; k++)
			round_trip(
				&b, size, efforts[k],
				(struct block_reference){ dictionary, other },
				&stored);
		free(dictionary);
		buffers_free(&b);
	}
}

static void random_bytes_are_stored_raw(void **state)
{
	struct buffers b = buffers_of(BLOCK_MAX);
	size_t stored;

	(void)state;
	sample_fill(b.raw, BLOCK_MAX, 1);
	for (size_t k = 0; k < 2; k++) {
		assert_int_equal(
			round_trip(&b, BLOCK_MAX, efforts[k], none, &stored),
			BLOCK_RAW);
		assert_int_equal(stored, BLOCK_MAX);
	}
	buffers_free(&b);
}

static void a_similar_block_is_worth_a_reference(void **state)
{
	enum { SIZE = 16384 };
	struct buffers b = buffers_of(SIZE);
	uint8_t other[SIZE];
	size_t stored;

	(void)state;
	sample_fill(other, SIZE, 1);
	memcpy(b.raw, other, SIZE);
	for (size_t i = 0; i < SIZE; i += 1000)
		b.raw[i] ^= 0xff;
	for (size_t k = 0; k < 2; k++) {
		struct block_reference reference = { other, SIZE };

		assert_int_equal(
			round_trip(&b, SIZE, efforts[k], reference, &stored),
			BLOCK_LZ4_REFERENCE);
		assert_true(stored < SIZE / 10);
	}
	buffers_free(&b);
}

static void a_reference_that_saves_nothing_is_not_used(void **state)
{
	enum { SIZE = 4096 };
	struct buffers b = buffers_of(SIZE);
	uint8_t other[SIZE];
	size_t stored;

	(void)state;
	sample_fill(other, SIZE, 1);
	for (size_t k = 0; k < 2; k++) {
		struct block_reference reference = { other, SIZE };

		fill_zero(b.raw, SIZE, 0);
		assert_int_equal(
			round_trip(&b, SIZE, efforts[k], reference, &stored),
			BLOCK_LZ4);
		sample_fill(b.raw, SIZE, 2);
		assert_int_equal(
			round_trip(&b, SIZE, efforts[k], reference, &stored),
			BLOCK_RAW);
	}
	buffers_free(&b);
}

static void small_is_smaller_than_fast(void **state)
{
	enum { SIZE = 32768 };
	struct buffers b = buffers_of(SIZE);
	size_t fast, small;

	(void)state;
	fill_text(b.raw, SIZE, 9);
	assert_int_equal(round_trip(&b, SIZE, BLOCK_FAST, none, &fast),
			 BLOCK_LZ4);
	assert_int_equal(round_trip(&b, SIZE, BLOCK_SMALL, none, &small),
			 BLOCK_LZ4);
	assert_true(small < fast);
	buffers_free(&b);
}

static void another_size_than_that_encoded_is_refused(void **state)
{
	enum { SIZE = 4096 };
	struct buffers b = buffers_of(SIZE + 1);
	enum block_encoding encoding;
	size_t stored;

	(void)state;
	for (size_t i = 0; i < FILLS; i++) {
		fills[i](b.raw, SIZE, 4);
		encoding = round_trip(&b, SIZE, BLOCK_FAST, none, &stored);
		assert_int_equal(block_decode(encoding, b.stored, stored, none,
					      b.back, SIZE - 1),
				 -EBADMSG);
		assert_int_equal(block_decode(encoding, b.stored, stored, none,
					      b.back, SIZE + 1),
				 -EBADMSG);
	}
	buffers_free(&b);
}

static void a_cut_stored_form_is_refused_at_every_length(void **state)
{
	enum { SIZE = 4096 };
	struct buffers b = buffers_of(SIZE);
	enum block_encoding encoding;
	size_t stored;

	(void)state;
	for (size_t i = 0; i < FILLS; i++) {
		fills[i](b.raw, SIZE, 4);
		encoding = round_trip(&b, SIZE, BLOCK_SMALL, none, &stored);
		for (size_t size = 0; size < stored; size++)
			assert_int_equal(block_decode(encoding, b.stored, size,
						      none, b.back, SIZE),
					 -EBADMSG);
	}
	buffers_free(&b);
}

static void sizes_out_of_range_are_refused(void **state)
{
	static uint8_t bytes[BLOCK_MAX + 1];
	uint8_t out[1];

	(void)state;
	assert_int_equal(block_decode(BLOCK_RAW, bytes, 0, none, out, 0),
			 -EBADMSG);
	assert_int_equal(block_decode(BLOCK_RAW, bytes, BLOCK_MAX + 1, none,
				      out, BLOCK_MAX + 1),
			 -EBADMSG);
	assert_int_equal(
		block_decode(BLOCK_LZ4, bytes, BLOCK_MAX + 1, none, out, 1),
		-EBADMSG);
	assert_int_equal(
		block_decode(BLOCK_LZ4_REFERENCE, bytes, 1, none, out, 1),
		-EBADMSG);
	assert_int_equal(
		block_decode((enum block_encoding)3, bytes, 1, none, out, 1),
		-EBADMSG);
}

static void without_its_reference_a_block_does_not_come_back(void **state)
{
	enum { SIZE = 8192 };
	struct buffers b = buffers_of(SIZE);
	uint8_t other[SIZE];
	struct block_reference reference = { other, SIZE };
	struct block_reference shorter = { other, 16 };
	size_t stored;

	(void)state;
	sample_fill(other, SIZE, 1);
	memcpy(b.raw, other, SIZE);
	assert_int_equal(round_trip(&b, SIZE, BLOCK_SMALL, reference, &stored),
			 BLOCK_LZ4_REFERENCE);
	assert_int_equal(block_decode(BLOCK_LZ4_REFERENCE, b.stored, stored,
				      none, b.back, SIZE),
			 -EBADMSG);
	assert_int_equal(block_decode(BLOCK_LZ4_REFERENCE, b.stored, stored,
				      shorter, b.back, SIZE),
			 -EBADMSG);
	buffers_free(&b);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(blocks_of_any_size_come_back),
		cmocka_unit_test(blocks_with_a_reference_of_any_size_come_back),
		cmocka_unit_test(random_bytes_are_stored_raw),
		cmocka_unit_test(a_similar_block_is_worth_a_reference),
		cmocka_unit_test(a_reference_that_saves_nothing_is_not_used),
		cmocka_unit_test(small_is_smaller_than_fast),
		cmocka_unit_test(another_size_than_that_encoded_is_refused),
		cmocka_unit_test(a_cut_stored_form_is_refused_at_every_length),
		cmocka_unit_test(sizes_out_of_range_are_refused),
		cmocka_unit_test(
			without_its_reference_a_block_does_not_come_back),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
