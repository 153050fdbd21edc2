/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>

#include <cmocka.h>

#include "fs/store/clock.h"
#include "fs/store/state.h"
#include "tests/unit/store_fixture.h"

enum { HOUR = 3600, FAR = IDENTITY_SETTLE_SECONDS + 2 };

static struct timespec later(struct timespec time, time_t seconds)
{
	time.tv_sec += seconds;
	return time;
}

static bool settled(struct store *store, struct timespec ctime)
{
	const struct file_identity identity = { .ctime = ctime };

	return identity_settled(store, &identity);
}

static void a_new_file_is_not_settled_whatever_our_clock_says(void **state)
{
	struct store *store = ((struct fixture *)*state)->store;
	struct timespec now;

	for (int hours = -1; hours <= 1; hours++) {
		struct timespec there;

		assert_int_equal(clock_ask(store, &now), 0);
		there = later(now, (time_t)hours * HOUR);
		clock_set(store, &there);
		assert_false(settled(store, there));
		assert_true(settled(store, later(there, -FAR)));
	}
}

static void a_time_that_was_seen_is_not_in_the_future(void **state)
{
	struct store *store = ((struct fixture *)*state)->store;
	struct timespec now = clock_now(store);
	struct timespec there = later(now, HOUR);

	assert_false(settled(store, there));
	assert_true(clock_now(store).tv_sec >= there.tv_sec);
	assert_true(settled(store, now));
	clock_saw(store, &now); /* which tells nothing new */
	assert_true(clock_now(store).tv_sec >= there.tv_sec);
}

static void a_clock_that_was_put_back_is_believed(void **state)
{
	struct store *store = ((struct fixture *)*state)->store;
	struct timespec now = clock_now(store);
	struct timespec there = later(now, HOUR);
	struct timespec asked;

	clock_set(store, &there);
	assert_true(settled(store, now));
	assert_int_equal(clock_ask(store, &asked), 0);
	assert_false(settled(store, asked));
	assert_in_range(clock_now(store).tv_sec, now.tv_sec,
			now.tv_sec + HOUR / 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_new_file_is_not_settled_whatever_our_clock_says,
			fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			a_time_that_was_seen_is_not_in_the_future,
			fixture_setup, fixture_teardown),
		cmocka_unit_test_setup_teardown(
			a_clock_that_was_put_back_is_believed, fixture_setup,
			fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
