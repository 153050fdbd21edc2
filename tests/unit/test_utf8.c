/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/utf8.h"

static struct text text_of(const char *letters)
{
	return (struct text){ (const uint8_t *)letters, strlen(letters) };
}

static void sequences_give_their_code_point(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		uint32_t point;
	} cases[] = {
		{ "A", 1, 0x41 },
		{ "\x7f", 1, 0x7f },
		{ "\xc2\x80", 2, 0x80 },
		{ "\xdf\xbf", 2, 0x7ff },
		{ "\xe0\xa0\x80", 3, 0x800 },
		{ "\xed\xa0\x80", 3, 0xd800 }, /* a surrogate passes */
		{ "\xef\xbf\xbf", 3, 0xffff },
		{ "\xf0\x90\x80\x80", 4, 0x10000 },
		{ "\xf4\x8f\xbf\xbf", 4, 0x10ffff },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text = text_of(cases[i].bytes);
		uint32_t point = 0;

		assert_int_equal(utf8_next(text.bytes, text.size, &point),
				 cases[i].size);
		assert_int_equal(point, cases[i].point);
	}
}

static void what_is_no_utf8_is_refused(void **state)
{
	static const char *const cases[] = {
		"\x80",		    /* a tail alone */
		"\xc0\x80",	    /* overlong */
		"\xc1\xbf",	    /* overlong */
		"\xe0\x9f\xbf",	    /* overlong */
		"\xf0\x8f\xbf\xbf", /* overlong */
		"\xf4\x90\x80\x80", /* beyond the last */
		"\xf5\x80\x80\x80", /* beyond the last */
		"\xff",		    /* nothing */
		"\xc3",		    /* cut off */
		"\xe2\x82",	    /* cut off */
		"\xe2\x28\xa1",	    /* no tail where one is due */
		"12345678\x80",	    /* after what is checked at once */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct text text = text_of(cases[i]);

		assert_false(utf8_valid(text.bytes, text.size));
	}
	assert_true(utf8_valid(NULL, 0));
}

static void only_surrogates_are_replaced(void **state)
{
	static const struct {
		const char *text;
		const char *written;
	} cases[] = {
		{ "", "" },
		{ "plain \xc3\xa9 \xed\x95\x9c",
		  "plain \xc3\xa9 \xed\x95\x9c" },
		{ "a\xed\xa0\x80z", "a\xef\xbf\xbdz" },
		{ "\xed\xbf\xbf\xed\xa0\x80", "\xef\xbf\xbd\xef\xbf\xbd" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer out = writer_upto(64);

		utf8_put(&out, text_of(cases[i].text));
		assert_int_equal(out.size, strlen(cases[i].written));
		if (out.size)
			assert_memory_equal(out.bytes, cases[i].written,
					    out.size);
		writer_free(&out);
	}
}

static void texts_are_equal_by_all_their_bytes(void **state)
{
	(void)state;
	assert_true(text_equals(text_of("meta"), "meta"));
	assert_false(text_equals(text_of("meta"), "met"));
	assert_false(text_equals(text_of("meta"), "metal"));
	assert_false(
		text_equals((struct text){ (const uint8_t *)"a\0b", 3 }, "a"));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sequences_give_their_code_point),
		cmocka_unit_test(what_is_no_utf8_is_refused),
		cmocka_unit_test(only_surrogates_are_replaced),
		cmocka_unit_test(texts_are_equal_by_all_their_bytes),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
