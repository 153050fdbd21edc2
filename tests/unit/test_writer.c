/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "codec/reader.h"
#include "codec/writer.h"

static void what_is_written_reads_back(void **state)
{
	struct writer w = writer_upto(64);
	struct reader r;

	(void)state;
	writer_u8(&w, 0x12);
	writer_le16(&w, 0x3456);
	writer_le32(&w, 0x789abcde);
	writer_le64(&w, 0x0123456789abcdef);
	writer_fill(&w, 9, 2);
	writer_string(&w, "ab");
	writer_put(&w, "", 1);
	writer_put(&w, NULL, 0);
	assert_int_equal(w.err, 0);

	r = reader_over(w.bytes, w.size);
	assert_int_equal(reader_u8(&r), 0x12);
	assert_int_equal(reader_le16(&r), 0x3456);
	assert_int_equal(reader_le32(&r), 0x789abcde);
	assert_int_equal(reader_le64(&r), 0x0123456789abcdef);
	assert_int_equal(reader_le16(&r), 0x0909);
	assert_string_equal(reader_take(&r, 3), "ab");
	assert_int_equal(reader_left(&r), 0);
	writer_free(&w);
}

static void the_limit_is_exact_and_its_failure_sticks(void **state)
{
	struct writer w = writer_upto(1000);

	(void)state;
	writer_fill(&w, 1, 998);
	writer_le16(&w, 2);
	assert_int_equal(w.err, 0);
	assert_int_equal(w.size, 1000);
	writer_u8(&w, 3);
	assert_int_equal(w.err, -EFBIG);
	assert_int_equal(w.size, 1000);
	w.limit = 2000;
	writer_u8(&w, 3);
	assert_int_equal(w.size, 1000);
	writer_free(&w);
}

static void sizes_near_the_largest_do_not_wrap(void **state)
{
	struct writer w = writer_upto(SIZE_MAX);

	(void)state;
	writer_u8(&w, 1);
	writer_fill(&w, 0, SIZE_MAX);
	assert_int_equal(w.err, -EFBIG);
	assert_int_equal(w.size, 1);
	writer_free(&w);
}

static void memory_is_not_taken_before_it_is_needed(void **state)
{
	struct writer w = writer_upto(SIZE_MAX);

	(void)state;
	assert_null(w.bytes);
	writer_u8(&w, 1);
	assert_in_range(w.capacity, 1, 4096);
	writer_free(&w);
	assert_null(w.bytes);
}

static void the_bytes_can_be_taken(void **state)
{
	struct writer w = writer_upto(16);
	size_t size = 9;
	uint8_t *bytes;

	(void)state;
	assert_null(writer_take(&w, &size));
	assert_int_equal(size, 0);
	writer_string(&w, "abc");
	bytes = writer_take(&w, &size);
	assert_int_equal(size, 3);
	assert_memory_equal(bytes, "abc", 3);
	assert_int_equal(w.size, 0);
	writer_string(&w, "more, from the start");
	assert_int_equal(w.err, -EFBIG);
	writer_free(&w);
	free(bytes);
}

static void formatted_pieces_have_a_limit_of_their_own(void **state)
{
	struct writer w = writer_upto(4096);

	(void)state;
	writer_printf(&w, "%d-%s", 42, "x");
	assert_int_equal(w.size, 4);
	assert_memory_equal(w.bytes, "42-x", 4);
	writer_printf(&w, "%511d", 1);
	assert_int_equal(w.size, 4 + 511);
	writer_printf(&w, "%512d", 1);
	assert_int_equal(w.err, -EFBIG);
	assert_int_equal(w.size, 4 + 511);
	writer_free(&w);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_written_reads_back),
		cmocka_unit_test(the_limit_is_exact_and_its_failure_sticks),
		cmocka_unit_test(sizes_near_the_largest_do_not_wrap),
		cmocka_unit_test(memory_is_not_taken_before_it_is_needed),
		cmocka_unit_test(the_bytes_can_be_taken),
		cmocka_unit_test(formatted_pieces_have_a_limit_of_their_own),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
