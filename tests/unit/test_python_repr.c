/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/number.h"
#include "compiler/python/repr.h"
#include "compiler/python/set_order.h"
#include "tests/unit/python_values.h"

/* Where the error goes that does not happen. */
#define NO_MATTER                                                              \
	&(int)                                                                 \
	{                                                                      \
		0                                                              \
	}

enum { ARENA_LIMIT = 1 << 22, TEXT_LIMIT = 1 << 16, ITEMS_MAX = 4096 };

static int with_arena(void **state)
{
	struct arena *arena = malloc(sizeof(*arena));

	if (!arena)
		return -1;
	*arena = arena_upto(ARENA_LIMIT);
	*state = arena;
	return 0;
}

static int without_arena(void **state)
{
	arena_free(*state);
	free(*state);
	return 0;
}

static void expect(const struct value *value, enum unicode unicode,
		   const char *expected)
{
	struct writer out = writer_upto(TEXT_LIMIT);

	repr_value(&out, value, unicode);
	writer_u8(&out, 0);
	assert_int_equal(out.err, 0);
	assert_string_equal((const char *)out.bytes, expected);
	writer_free(&out);
}

static void strings_are_quoted_and_escaped_like_python_s(void **state)
{
	static const struct {
		const char *text;
		const char *repr;
	} cases[] = {
		{ "", "''" },
		{ "plain", "'plain'" },
		{ "it's", "\"it's\"" },
		{ "\"", "'\"'" },
		{ "'\"", "'\\'\"'" },
		{ "a\\b", "'a\\\\b'" },
		{ "\t\n\r", "'\\t\\n\\r'" },
		{ "\x01\x1f\x7f", "'\\x01\\x1f\\x7f'" },
		{ "\xc2\x80\xc2\xa0\xc2\xad", "'\\x80\\xa0\\xad'" },
		{ "\xc3\xa9\xe6\x8e\xa8", "'\xc3\xa9\xe6\x8e\xa8'" },
		{ "\xe2\x80\xa8\xef\xbb\xbf", "'\\u2028\\ufeff'" },
		{ "\xed\xa0\x80", "'\\ud800'" },
		{ "\xf0\x9f\x98\x80", "'\xf0\x9f\x98\x80'" },
		{ "\xf3\xa0\x80\x81", "'\\U000e0001'" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct value value = { .type = VALUE_STR,
				       .text = sample_text(cases[i].text) };

		expect(&value, UNICODE_12_1, cases[i].repr);
	}
}

static void what_is_printable_depends_on_the_unicode(void **state)
{
	static const struct {
		const char *text;
		const char *escaped;
		enum unicode since;
	} cases[] = {
		{ "\xe0\xa2\xbe", "'\\u08be'", UNICODE_13_0 },
		{ "\xd8\x9d", "'\\u061d'", UNICODE_14_0 },
		{ "\xf0\x9f\xab\xa8", "'\\U0001fae8'", UNICODE_15_0 },
		{ "\xe2\xbf\xbc", "'\\u2ffc'", UNICODE_15_1 },
		{ "\xe0\xa2\x97", "'\\u0897'", UNICODE_16_0 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct value value = { .type = VALUE_STR,
				       .text = sample_text(cases[i].text) };
		char plain[16];

		snprintf(plain, sizeof(plain), "'%s'", cases[i].text);
		for (int u = UNICODE_12_1; u <= UNICODE_16_0; u++)
			expect(&value, (enum unicode)u,
			       (enum unicode)u < cases[i].since
				       ? cases[i].escaped
				       : plain);
	}
}

static void bytes_are_escaped_from_0x7f_on(void **state)
{
	struct value value = { .type = VALUE_BYTES,
			       .text = sample_text("a'\"\\\x7f\xff\n") };

	(void)state;
	expect(&value, UNICODE_16_0, "b'a\\'\"\\\\\\x7f\\xff\\n'");
}

static void a_code_object_says_its_name_and_first_line(void **state)
{
	struct code code = { .name = sample_text("f\n"),
			     .filename = sample_text("a.py"),
			     .first_line = 3 };
	struct value value = { .type = VALUE_CODE, .code = &code };

	(void)state;
	expect(&value, UNICODE_16_0,
	       "<code object f\n at 0x0, file \"a.py\", line 3>");
	code.first_line = 0;
	expect(&value, UNICODE_16_0,
	       "<code object f\n at 0x0, file \"a.py\", line -1>");
}

static void a_shared_value_ends_at_the_writer_s_limit(void **state)
{
	struct value levels[40];
	const struct value *items[40][2];
	struct writer out = writer_upto(TEXT_LIMIT);

	(void)state;
	levels[0] = (struct value){ .type = VALUE_TUPLE };
	for (int i = 1; i < 40; i++) {
		items[i][0] = items[i][1] = &levels[i - 1];
		levels[i] = (struct value){ .type = VALUE_TUPLE,
					    .items = { items[i], 2 } };
	}
	repr_value(&out, &levels[39], UNICODE_16_0);
	assert_int_equal(out.err, -EFBIG);
	writer_free(&out);
}

static void expect_order(struct arena *arena, const int *numbers, size_t count,
			 const char *expected)
{
	const struct value **items = arena_array(arena, count, sizeof(void *));
	struct value set = { .type = VALUE_SET, .items = { items, count } };

	for (size_t i = 0; i < count; i++)
		items[i] = number_of_int32(arena, numbers[i], NO_MATTER);
	assert_int_equal(set_order(&set, 13, arena), 0);
	expect(&set, UNICODE_16_0, expected);
}

static void numbers_in_a_set_have_the_order_of_their_hash_table(void **state)
{
	/* Checked with CPython 3.13. */
	expect_order(*state, (const int[]){ 3, 1, 2 }, 3, "{1, 2, 3}");
	expect_order(*state, (const int[]){ 8, 0, 16 }, 3, "{8, 0, 16}");
	expect_order(*state, (const int[]){ -1, -2, 5 }, 3, "{5, -1, -2}");
	expect_order(*state, (const int[]){ 7, 7, 7 }, 3, "{7}");
	expect_order(*state, (const int[]){ 100, 33, 1000, 65, 1, 97, 64, 129 },
		     8, "{64, 33, 65, 1, 100, 97, 129, 1000}");
}

static void a_set_with_strings_keeps_its_order(void **state)
{
	struct value a = { .type = VALUE_STR,
			   .text = sample_text("a"),
			   .hash_since = HASH_NEVER };
	const struct value *items[] = { number_of_int32(*state, 3, NO_MATTER),
					&a,
					number_of_int32(*state, 1, NO_MATTER) };
	struct value set = { .type = VALUE_FROZENSET, .items = { items, 3 } };

	assert_int_equal(set_order(&set, 14, *state), 0);
	expect(&set, UNICODE_16_0, "frozenset({3, 'a', 1})");
}

static void a_value_counts_from_the_python_on_that_fixed_its_hash(void **state)
{
	struct value none = { .type = VALUE_ATOM,
			      .text = sample_text("None"),
			      .hash = 0xfca86420,
			      .hash_since = 12 };
	const struct value *two = number_of_int32(*state, 2, NO_MATTER);
	const struct value *one = number_of_int32(*state, 1, NO_MATTER);
	const struct value *items[] = { two, one, &none };
	struct value set = { .type = VALUE_SET, .items = { items, 3 } };

	assert_int_equal(set_order(&set, 11, *state), 0);
	expect(&set, UNICODE_16_0, "{2, 1, None}");
	assert_int_equal(set_order(&set, 12, *state), 0);
	expect(&set, UNICODE_16_0, "{None, 1, 2}");
}

/* All of one hash, as no compiler would have them. */
static void collisions_are_given_up_on(void **state)
{
	const struct value *items[ITEMS_MAX];
	struct value *values = calloc(ITEMS_MAX, sizeof(*values));
	struct value set = { .type = VALUE_SET, .items = { items, ITEMS_MAX } };

	assert_non_null(values);
	for (size_t i = 0; i < ITEMS_MAX; i++) {
		values[i] = (struct value){ .type = VALUE_TUPLE, .hash = 5 };
		items[i] = &values[i];
	}
	assert_int_equal(set_order(&set, 14, *state), -E2BIG);
	free(values);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, with_arena, without_arena)
		TEST(strings_are_quoted_and_escaped_like_python_s),
		TEST(what_is_printable_depends_on_the_unicode),
		TEST(bytes_are_escaped_from_0x7f_on),
		TEST(a_code_object_says_its_name_and_first_line),
		TEST(a_shared_value_ends_at_the_writer_s_limit),
		TEST(numbers_in_a_set_have_the_order_of_their_hash_table),
		TEST(a_set_with_strings_keeps_its_order),
		TEST(a_value_counts_from_the_python_on_that_fixed_its_hash),
		TEST(collisions_are_given_up_on),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
