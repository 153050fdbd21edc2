/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "codec/reader.h"

static const uint8_t counting[] = { 1, 2,  3,  4,  5,  6,  7, 8,
				    9, 10, 11, 12, 13, 14, 15 };

static void numbers_are_little_endian(void **state)
{
	struct reader r = reader_over(counting, sizeof(counting));

	(void)state;
	assert_int_equal(reader_u8(&r), 1);
	assert_int_equal(reader_le16(&r), 0x0302);
	assert_int_equal(reader_le32(&r), 0x07060504);
	assert_int_equal(reader_le64(&r), 0x0f0e0d0c0b0a0908);
	assert_int_equal(reader_left(&r), 0);
	assert_int_equal(r.err, 0);
}

static void first_failure_sticks(void **state)
{
	struct reader r = reader_over(counting, 3);
	uint8_t copy[2] = { 7, 7 };

	(void)state;
	assert_int_equal(reader_u8(&r), 1);
	assert_int_equal(reader_le32(&r), 0); /* two bytes short */
	assert_int_equal(reader_u8(&r), 0);   /* and now nothing is left */
	assert_null(reader_take(&r, 1));
	reader_copy(&r, copy, sizeof(copy));
	assert_int_equal(copy[0] | copy[1], 0);
	reader_fail(&r, -ENOTSUP, "later");
	assert_int_equal(r.err, -EBADMSG);
	assert_int_equal(r.where, 1);
	assert_string_not_equal(r.why, "later");
}

static void a_failure_is_kept_with_its_place(void **state)
{
	struct reader r = reader_over(counting, sizeof(counting));

	(void)state;
	reader_take(&r, 5);
	reader_fail(&r, -ENOTSUP, "why");
	assert_int_equal(r.err, -ENOTSUP);
	assert_string_equal(r.why, "why");
	assert_int_equal(r.where, 5);
}

static void what_is_taken_lies_in_the_input(void **state)
{
	struct reader r = reader_over(counting, sizeof(counting));

	(void)state;
	assert_ptr_equal(reader_take(&r, 4), counting);
	assert_ptr_equal(reader_take(&r, 0), counting + 4);
	assert_int_equal(reader_offset(&r), 4);
	assert_null(reader_take(&r, SIZE_MAX));
	assert_int_equal(r.err, -EBADMSG);
}

static void an_input_may_be_empty(void **state)
{
	struct reader r = reader_over(NULL, 0);

	(void)state;
	assert_int_equal(reader_left(&r), 0);
	reader_take(&r, 0);
	assert_int_equal(r.err, 0);
	assert_int_equal(reader_u8(&r), 0);
	assert_int_equal(r.err, -EBADMSG);
}

static void a_count_is_never_more_than_can_follow(void **state)
{
	static const struct {
		uint8_t count;
		size_t min_size;
		size_t result;
		int err;
	} rows[] = {
		{ 3, 2, 3, 0 },
		{ 4, 2, 0, -EBADMSG },
		{ 6, 1, 6, 0 },
		{ 7, 1, 0, -EBADMSG },
		{ 0, 100, 0, 0 },
		{ 1, 7, 0, -EBADMSG },
		{ 1, SIZE_MAX, 0, -EBADMSG },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(rows) / sizeof(rows[0]); i++) {
		uint8_t bytes[4 + 6] = { rows[i].count };
		struct reader r = reader_over(bytes, sizeof(bytes));

		assert_int_equal(reader_count(&r, rows[i].min_size),
				 rows[i].result);
		assert_int_equal(r.err, rows[i].err);
		assert_int_equal(r.where, 0); /* the count, not what follows */
	}
}

static void a_count_that_is_cut_off_fails(void **state)
{
	struct reader r = reader_over(counting, 3);

	(void)state;
	assert_int_equal(reader_count(&r, 1), 0);
	assert_int_equal(r.err, -EBADMSG);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(numbers_are_little_endian),
		cmocka_unit_test(first_failure_sticks),
		cmocka_unit_test(a_failure_is_kept_with_its_place),
		cmocka_unit_test(what_is_taken_lies_in_the_input),
		cmocka_unit_test(an_input_may_be_empty),
		cmocka_unit_test(a_count_is_never_more_than_can_follow),
		cmocka_unit_test(a_count_that_is_cut_off_fails),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
