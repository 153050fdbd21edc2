/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdalign.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codec/arena.h"

static void memory_is_zeroed_aligned_and_apart(void **state)
{
	static const size_t sizes[] = { 0,     1,     7,      16,    1000,
					20000, 70000, 300000, 65536, 3 };
	enum { COUNT = sizeof(sizes) / sizeof(sizes[0]) };
	struct arena a = arena_upto(1 << 22);
	uint8_t *blocks[COUNT];

	(void)state;
	for (size_t i = 0; i < COUNT; i++) {
		blocks[i] = arena_alloc(&a, sizes[i]);
		assert_non_null(blocks[i]);
		assert_int_equal((uintptr_t)blocks[i] % alignof(max_align_t),
				 0);
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(blocks[i][k], 0);
		memset(blocks[i], (int)i + 1, sizes[i]);
	}
	for (size_t i = 0; i < COUNT; i++)
		for (size_t k = 0; k < sizes[i]; k++)
			assert_int_equal(blocks[i][k], i + 1);
	arena_free(&a);
	assert_int_equal(a.used, 0);
}

static void the_limit_holds(void **state)
{
	static const size_t limits[] = { 0, 15, 16, 100, 65536, 1 << 20 };

	(void)state;
	for (size_t i = 0; i < sizeof(limits) / sizeof(limits[0]); i++) {
		struct arena a = arena_upto(limits[i]);
		size_t got = 0;

		while (arena_alloc(&a, 16))
			got += 16;
		assert_int_equal(got, limits[i] / 16 * 16);
		assert_in_range(a.used, 0, limits[i]);
		assert_null(arena_alloc(&a, 0));
		arena_free(&a);
	}
}

static void sizes_near_the_largest_do_not_wrap(void **state)
{
	struct arena a = arena_upto(SIZE_MAX);

	(void)state;
	assert_null(arena_alloc(&a, SIZE_MAX));
	assert_null(arena_alloc(&a, SIZE_MAX - 15));
	assert_null(arena_array(&a, SIZE_MAX / 2, 3));
	assert_null(arena_array(&a, (size_t)1 << 32, (size_t)1 << 32));
	assert_non_null(arena_array(&a, 3, 5));
	arena_free(&a);
}

static void an_arena_can_be_used_again(void **state)
{
	struct arena a = arena_upto(1024);

	(void)state;
	for (int i = 0; i < 100; i++) {
		assert_non_null(arena_alloc(&a, 1000));
		assert_null(arena_alloc(&a, 1000));
		arena_free(&a);
	}
}

static void a_reused_arena_gives_zeroes_and_keeps_its_limit(void **state)
{
	static const size_t sizes[] = { 16, 4096, 30000, 200000 };
	struct arena a = arena_upto(1 << 20);

	(void)state;
	for (int i = 0; i < 64; i++) {
		size_t size = sizes[i % 4];
		uint8_t *block = arena_alloc(&a, size);

		assert_non_null(block);
		for (size_t k = 0; k < size; k++)
			assert_int_equal(block[k], 0);
		memset(block, 0xff, size);
		arena_reuse(&a);
		assert_in_range(a.used, 0, 1 << 16);
	}
	arena_free(&a);
	arena_reuse(&a);
	assert_int_equal(a.used, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(memory_is_zeroed_aligned_and_apart),
		cmocka_unit_test(the_limit_holds),
		cmocka_unit_test(sizes_near_the_largest_do_not_wrap),
		cmocka_unit_test(an_arena_can_be_used_again),
		cmocka_unit_test(
			a_reused_arena_gives_zeroes_and_keeps_its_limit),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
