/* SPDX-License-Identifier: Apache-2.0 */
#include <float.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/float_text.h"
#include "compiler/python/number.h"

/* Where the error goes that does not happen. */
#define NO_MATTER                                                              \
	&(int)                                                                 \
	{                                                                      \
		0                                                              \
	}

enum { ARENA_LIMIT = 1 << 20, RANDOM_FLOATS = 100000 };

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

static void expect_text(const struct value *value, const char *text)
{
	assert_non_null(value);
	assert_int_equal(value->type, VALUE_ATOM);
	if (!text_equals(value->text, text))
		fail_msg("%.*s, not %s", (int)value->text.size,
			 (const char *)value->text.bytes, text);
}

static void floats_have_python_s_shortest_text(void **state)
{
	static const struct {
		double number;
		const char *text;
	} cases[] = {
		{ 0.0, "0.0" },
		{ -0.0, "-0.0" },
		{ 1.0, "1.0" },
		{ 0.1, "0.1" },
		{ -2.5, "-2.5" },
		{ 1e15, "1000000000000000.0" },
		{ 1e16, "1e+16" },
		{ 123456789012345680.0, "1.2345678901234568e+17" },
		{ 9999999999999998.0, "9999999999999998.0" },
		{ 0.0001, "0.0001" },
		{ 0.00001, "1e-05" },
		{ 1e100, "1e+100" },
		{ 5e-324, "5e-324" },
		{ DBL_MIN, "2.2250738585072014e-308" },
		{ DBL_MAX, "1.7976931348623157e+308" },
		/* Halfway between 17 digits, and powers of two. */
		{ 5.684341886080802e-14, "5.684341886080802e-14" },
		{ 9007199254740993.0, "9007199254740992.0" },
		{ 2e23, "2e+23" },
		{ 9.5367431640625e-07, "9.5367431640625e-07" },
		{ INFINITY, "inf" },
		{ -INFINITY, "-inf" },
		{ NAN, "nan" },
		{ -NAN, "nan" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_text(number_of_float(*state, cases[i].number, NO_MATTER),
			    cases[i].text);
}

static void float_texts_read_back_and_could_not_be_shorter(void **state)
{
	char text[FLOAT_TEXT_SIZE], shorter[64];
	uint64_t bits = 1;

	(void)state;
	for (int i = 0; i < RANDOM_FLOATS; i++) {
		struct float_digits digits;
		double number;

		bits = bits * 6364136223846793005u + 1442695040888963407u;
		memcpy(&number, &bits, sizeof(number));
		number = fabs(number);
		if (isnan(number) || isinf(number) || number == 0)
			continue;
		float_text(number, true, false, text);
		assert_true(strtod(text, NULL) == number);
		float_shortest(number, &digits);
		if (digits.count < 2)
			continue;
		snprintf(shorter, sizeof(shorter), "%.*e",
			 (int)digits.count - 2, number);
		assert_true(strtod(shorter, NULL) != number);
	}
}

static void complex_numbers_are_written_like_python_s(void **state)
{
	static const struct {
		double real;
		double imaginary;
		const char *text;
	} cases[] = {
		{ 0.0, 1.0, "1j" },	  { 0.0, -0.0, "-0j" },
		{ -0.0, 1.0, "(-0+1j)" }, { 1.5, -2.0, "(1.5-2j)" },
		{ 1.0, NAN, "(1+nanj)" }, { NAN, INFINITY, "(nan+infj)" },
		{ 0.0, NAN, "nanj" },	  { 1e16, -INFINITY, "(1e+16-infj)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_text(number_of_complex(*state, cases[i].real,
					      cases[i].imaginary, NO_MATTER),
			    cases[i].text);
}

static void ints_are_decimal(void **state)
{
	static const uint8_t ten_to_20[] = { 0x00, 0x00, 0x20, 0x46, 0xb5,
					     0x78, 0x3a, 0x5e, 0x56, 0x00 };
	uint8_t large[2 * 1000];

	expect_text(number_of_int32(*state, INT32_MIN, NO_MATTER),
		    "-2147483648");
	expect_text(number_of_digits(*state, NULL, 0, false, NO_MATTER), "0");
	expect_text(number_of_digits(*state, (const uint8_t[]){ 1, 0 }, 1, true,
				     NO_MATTER),
		    "-1");
	expect_text(number_of_digits(*state,
				     (const uint8_t[]){ 0, 0, 0, 0, 1, 0 }, 3,
				     false, NO_MATTER),
		    "1073741824");
	expect_text(number_of_digits(*state, ten_to_20, 5, true, NO_MATTER),
		    "-100000000000000000000");
	memset(large, 0x7f, sizeof(large));
	expect_text(number_of_digits(*state, large, 1000, false, NO_MATTER),
		    NUMBER_TOO_LONG);
	expect_text(number_of_digits(*state, large, 954, true, NO_MATTER),
		    NUMBER_TOO_LONG);
}

/* 2^14284 has 4300 decimal digits, 2^14285 one more: too many. */
static void ints_are_written_up_to_python_s_limit(void **state)
{
	uint8_t digits[2 * 953] = { 0 };
	uint8_t *top = &digits[sizeof(digits) - 2];
	const struct value *value;

	*top = 1;
	value = number_of_digits(*state, digits, 953, false, NO_MATTER);
	assert_int_equal(value->text.size, 4299);
	assert_memory_equal(value->text.bytes, "51", 2);
	*top = 16;
	value = number_of_digits(*state, digits, 953, true, NO_MATTER);
	assert_int_equal(value->text.size, 4301);
	*top = 32;
	expect_text(number_of_digits(*state, digits, 953, false, NO_MATTER),
		    NUMBER_TOO_LONG);
}

static void equal_numbers_have_one_hash(void **state)
{
	const struct value *one = number_of_int32(*state, 1, NO_MATTER);

	assert_int_equal(one->hash, 1);
	assert_int_equal(number_of_float(*state, 1.0, NO_MATTER)->hash, 1);
	assert_int_equal(number_of_complex(*state, 1.0, 0.0, NO_MATTER)->hash,
			 1);
	assert_int_equal(number_of_int32(*state, -1, NO_MATTER)->hash,
			 (uint64_t)-2);
	assert_int_equal(number_of_float(*state, -1.0, NO_MATTER)->hash,
			 (uint64_t)-2);
	assert_int_equal(number_of_float(*state, 0.5, NO_MATTER)->hash,
			 1ull << 60);
	assert_int_equal(
		number_of_float(*state, 2305843009213693951.0, NO_MATTER)->hash,
		1); /* 2^61, modulo 2^61 - 1 */
	assert_int_equal(number_of_float(*state, -INFINITY, NO_MATTER)->hash,
			 (uint64_t)-314159);
	assert_int_equal(number_of_float(*state, NAN, NO_MATTER)->hash_since,
			 HASH_NEVER);
}

static void a_tuple_hash_is_python_s(void **state)
{
	struct tuple_hash empty = tuple_hash_start();
	struct tuple_hash pair = tuple_hash_start();

	(void)state;
	tuple_hash_add(&pair, 1);
	tuple_hash_add(&pair, 2);
	assert_int_equal(tuple_hash_end(&empty), 5740354900026072187u);
	assert_int_equal(tuple_hash_end(&pair), (uint64_t)-3550055125485641917);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(floats_have_python_s_shortest_text),
		cmocka_unit_test(
			float_texts_read_back_and_could_not_be_shorter),
		cmocka_unit_test(complex_numbers_are_written_like_python_s),
		cmocka_unit_test(ints_are_decimal),
		cmocka_unit_test(ints_are_written_up_to_python_s_limit),
		cmocka_unit_test(equal_numbers_have_one_hash),
		cmocka_unit_test(a_tuple_hash_is_python_s),
	};

	return cmocka_run_group_tests(tests, with_arena, without_arena);
}
