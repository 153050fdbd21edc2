/* SPDX-License-Identifier: Apache-2.0 */
#include <ctype.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/counters.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 200000, THREADS = 4, TURNS = 20000 };

static uint64_t value(const struct fixture *f, enum counter counter)
{
	return store_counts(f->store).value[counter];
}

static void every_counter_has_a_name_of_its_own_and_a_meaning(void **state)
{
	(void)state;
	for (int i = 0; i < COUNTER_COUNT; i++) {
		const struct counter_about *about =
			counter_about((enum counter)i);

		assert_non_null(about->name);
		assert_non_null(about->help);
		assert_in_range(strlen(about->name), 1, 40);
		assert_int_equal(
			strspn(about->name, "abcdefghijklmnopqrstuvwxyz_"),
			strlen(about->name));
		assert_true(isupper((unsigned char)about->help[0]));
		assert_null(strpbrk(about->help, "\n\\.\""));
		for (int j = 0; j < i; j++)
			assert_string_not_equal(
				about->name,
				counter_about((enum counter)j)->name);
	}
}

static void a_new_store_has_counted_nothing(void **state)
{
	const struct counts none = { { 0 } };
	const struct counts now =
		store_counts(((struct fixture *)*state)->store);

	assert_true(counts_equal(&now, &none));
}

static void what_is_published_is_new_or_was_there(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = malloc(SIZE);
	uint64_t added;

	fill(bytes, SIZE, 1, 4);
	publish(f->store, "one", bytes, SIZE);
	assert_int_equal(value(f, COUNTER_PUBLISHED_PLAIN), 1);
	assert_int_equal(value(f, COUNTER_IN_BYTES), SIZE);
	added = value(f, COUNTER_ADDED_BYTES);
	assert_in_range(added, 1, SIZE);
	assert_int_equal(added, measured(f->store).block_stored_bytes);
	assert_int_equal(value(f, COUNTER_DEDUPLICATED_BYTES), 0);
	publish(f->store, "two", bytes, SIZE);
	assert_int_equal(value(f, COUNTER_IN_BYTES), 2 * SIZE);
	assert_int_equal(value(f, COUNTER_ADDED_BYTES), added);
	assert_int_equal(value(f, COUNTER_DEDUPLICATED_BYTES), SIZE);
	publish(f->store, "tiny", "abc", 3);
	assert_int_equal(value(f, COUNTER_IN_BYTES), 2 * SIZE + 3);
	assert_int_equal(value(f, COUNTER_ADDED_BYTES), added + 3);
	assert_int_equal(value(f, COUNTER_DEDUPLICATED_BYTES), SIZE);
}

static void what_was_damaged_is_healed_once(void **state)
{
	struct fixture *f = *state;

	publish(f->store, "file", "abc", 3);
	flip_byte(f, "refs/default/file", 20);
	assert_int_not_equal(try_read(f->store, "file", "abc", 3), 0);
	assert_int_equal(value(f, COUNTER_DAMAGED), 1);
	assert_int_equal(value(f, COUNTER_DAMAGED_PACKS), 0);
	publish(f->store, "other", "abc", 3);
	assert_int_equal(value(f, COUNTER_HEALED), 0);
	publish(f->store, "file", "abc", 3);
	assert_int_equal(value(f, COUNTER_HEALED), 1);
	publish(f->store, "file", "abc", 3);
	assert_int_equal(value(f, COUNTER_HEALED), 1);
}

static void a_damaged_pack_is_counted_apart(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = malloc(SIZE);
	char path[PACK_NAME_SIZE];

	fill(bytes, SIZE, 1, 4);
	publish(f->store, "file", bytes, SIZE);
	assert_true(first_pack(f, path));
	flip_byte(f, path, 0);
	fixture_reopen(f);
	assert_int_not_equal(try_read(f->store, "file", bytes, SIZE), 0);
	assert_int_equal(value(f, COUNTER_DAMAGED_PACKS), 1);
	assert_int_equal(value(f, COUNTER_DAMAGED), 1);
}

static void *count_hits(void *store)
{
	for (int i = 0; i < TURNS; i++)
		store_count(store, COUNTER_HITS, 1);
	return NULL;
}

static void threads_lose_no_count(void **state)
{
	struct fixture *f = *state;
	pthread_t threads[THREADS];

	for (int i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&threads[i], NULL, count_hits, f->store),
			0);
	for (int i = 0; i < THREADS; i++)
		pthread_join(threads[i], NULL);
	assert_int_equal(value(f, COUNTER_HITS), THREADS * TURNS);
}

static void sums_and_differences_stop_at_the_ends(void **state)
{
	struct counts a = { { UINT64_MAX - 1, 5, 3 } };
	const struct counts b = { { 2, 7, 3 } };
	struct counts sum = a;

	(void)state;
	counts_add(&sum, &b);
	assert_true(sum.value[0] == UINT64_MAX);
	assert_int_equal(sum.value[1], 12);
	counts_subtract(&a, &b);
	assert_true(a.value[0] == UINT64_MAX - 3);
	assert_int_equal(a.value[1], 0);
	assert_int_equal(a.value[2], 0);
	assert_false(counts_equal(&a, &b));
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(
			every_counter_has_a_name_of_its_own_and_a_meaning),
		TEST(a_new_store_has_counted_nothing),
		TEST(what_is_published_is_new_or_was_there),
		TEST(what_was_damaged_is_healed_once),
		TEST(a_damaged_pack_is_counted_apart),
		TEST(threads_lose_no_count),
		cmocka_unit_test(sums_and_differences_stop_at_the_ends),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
