/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/chunk.h"

enum { SIZE = 4 * 1024 * 1024, MANY = SIZE / CHUNK_MIN + 1 };

struct content {
	uint8_t bytes[SIZE + 1];
	size_t cuts[MANY]; /* where chunks end */
	size_t count;
};

static uint64_t splitmix64(uint64_t *state)
{
	uint64_t z = *state += 0x9e3779b97f4a7c15;

	z = (z ^ (z >> 30)) * 0xbf58476d1ce4e5b9;
	z = (z ^ (z >> 27)) * 0x94d049bb133111eb;
	return z ^ (z >> 31);
}

static void cut(struct content *c, size_t size)
{
	c->count = 0;
	for (size_t at = 0; at < size;) {
		size_t chunk = chunk_first(c->bytes + at, size - at);

		assert_in_range(chunk, 1, CHUNK_MAX);
		at += chunk;
		assert_true(c->count < MANY);
		c->cuts[c->count++] = at;
	}
}

static int make_content(void **state)
{
	struct content *c = calloc(1, sizeof(*c));
	uint64_t seed = 5;

	if (!c)
		return -1;
	for (size_t i = 0; i < SIZE; i++)
		c->bytes[i] = (uint8_t)splitmix64(&seed);
	cut(c, SIZE);
	*state = c;
	return 0;
}

static int free_content(void **state)
{
	free(*state);
	return 0;
}

static size_t chunk_at(const struct content *c, size_t i)
{
	return c->cuts[i] - (i ? c->cuts[i - 1] : 0);
}

static void no_chunk_is_below_the_least_or_above_the_greatest(void **state)
{
	const struct content *c = *state;

	for (size_t i = 0; i + 1 < c->count; i++)
		assert_in_range(chunk_at(c, i), CHUNK_MIN, CHUNK_MAX);
	assert_true(c->cuts[c->count - 1] == SIZE);
}

static void chunks_are_about_the_average(void **state)
{
	const struct content *c = *state;

	assert_in_range(SIZE / c->count, CHUNK_AVERAGE, CHUNK_AVERAGE * 5 / 4);
}

static void what_is_short_is_one_chunk(void **state)
{
	const struct content *c = *state;
	static const size_t sizes[] = { 0, 1, CHUNK_MIN - 1, CHUNK_MIN };

	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++)
		assert_int_equal(chunk_first(c->bytes, sizes[i]), sizes[i]);
}

static void bytes_that_never_cut_give_the_greatest_chunk(void **state)
{
	static const uint8_t zeroes[CHUNK_MAX + 1];

	(void)state;
	assert_int_equal(chunk_first(zeroes, CHUNK_MAX + 1), CHUNK_MAX);
	assert_int_equal(chunk_first(zeroes, CHUNK_MAX - 1), CHUNK_MAX - 1);
}

/* A caller may hand over windows of a file instead of all of it. */
static void a_cut_needs_no_more_than_the_greatest_chunk(void **state)
{
	const struct content *c = *state;

	for (size_t i = 0, at = 0; i + 1 < c->count; at = c->cuts[i++]) {
		size_t left = SIZE - at;

		assert_int_equal(
			chunk_first(c->bytes + at,
				    left < CHUNK_MAX ? left : CHUNK_MAX),
			chunk_at(c, i));
	}
}

/* How many cuts of `new` are cuts of `old`, moved by `shift`. */
static size_t cuts_kept(const struct content *old, const struct content *new,
			size_t shift)
{
	size_t kept = 0;

	for (size_t i = 0, k = 0; i < new->count; i++) {
		while (k < old->count && old->cuts[k] + shift < new->cuts[i])
			k++;
		if (k < old->count && old->cuts[k] + shift == new->cuts[i])
			kept++;
	}
	return kept;
}

static void cuts_come_back_after_an_insertion(void **state)
{
	static const size_t places[] = { 0, 1, CHUNK_MIN, SIZE / 2 };
	const struct content *old = *state;
	struct content *new = calloc(1, sizeof(*new));

	assert_non_null(new);
	for (size_t i = 0; i < sizeof(places) / sizeof(places[0]); i++) {
		size_t at = places[i];
		size_t after = 0;

		memcpy(new->bytes, old->bytes, at);
		new->bytes[at] = 'x';
		memcpy(new->bytes + at + 1, old->bytes + at, SIZE - at);
		cut(new, SIZE + 1);
		for (size_t k = 0; k < new->count; k++)
			after += new->cuts[k] > at;
		assert_true(cuts_kept(old, new, 1) + 16 > after);
	}
	free(new);
}

/*
 * The rule of docs/format.md, in the plainest way: at each size the hash of the
 * last 64 bytes, from nothing.
 */
static size_t chunk_by_the_book(const uint64_t gear[256], const uint8_t *bytes,
				size_t size)
{
	for (size_t n = CHUNK_MIN; n < size && n < CHUNK_MAX; n++) {
		int zeroes = n < CHUNK_AVERAGE ? 16 : 12;
		uint64_t hash = 0;

		for (size_t i = 0; i < 64; i++)
			hash += gear[bytes[n - 1 - i]] << i;
		if (!(hash >> (64 - zeroes)))
			return n;
	}
	return size < CHUNK_MAX ? size : CHUNK_MAX;
}

static void cuts_are_those_of_the_format(void **state)
{
	const struct content *c = *state;
	uint64_t gear[256];
	uint64_t seed = 0x7461636673636463;

	for (size_t i = 0; i < 256; i++)
		gear[i] = splitmix64(&seed);
	for (size_t i = 0, at = 0; at < SIZE / 4; at = c->cuts[i++])
		assert_int_equal(
			chunk_by_the_book(gear, c->bytes + at, SIZE - at),
			chunk_at(c, i));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			no_chunk_is_below_the_least_or_above_the_greatest),
		cmocka_unit_test(chunks_are_about_the_average),
		cmocka_unit_test(what_is_short_is_one_chunk),
		cmocka_unit_test(bytes_that_never_cut_give_the_greatest_chunk),
		cmocka_unit_test(a_cut_needs_no_more_than_the_greatest_chunk),
		cmocka_unit_test(cuts_come_back_after_an_insertion),
		cmocka_unit_test(cuts_are_those_of_the_format),
	};

	return cmocka_run_group_tests(tests, make_content, free_content);
}
