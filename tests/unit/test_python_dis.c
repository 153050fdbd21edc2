/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/dis.h"
#include "compiler/show.h"
#include "tests/unit/python_values.h"

enum { LIMIT = 1 << 20 };

#define CODE(letters)                                                          \
	.bytecode = (letters), .bytecode_size = sizeof(letters) - 1
#define LINES(letters)	.lines = (letters), .lines_size = sizeof(letters) - 1
#define CONSTS(letters) .consts = (letters), .consts_size = sizeof(letters) - 1

static struct writer marshal_of(const struct sample_code *code,
				const char *python)
{
	struct writer file = writer_upto(LIMIT);

	sample_code_write(&file, code, python_named(python)->layout);
	return file;
}

static void expect_dis(const struct sample_code *code, const char *python,
		       const char *expected)
{
	struct writer file = marshal_of(code, python);
	struct writer text = writer_upto(LIMIT);
	struct fault fault = { 0 };

	if (show_dis(file.bytes, file.size, python_named(python), &text,
		     &fault))
		fail_msg("%s: %s", python, fault.why);
	writer_u8(&text, 0);
	assert_string_equal((const char *)text.bytes, expected);
	writer_free(&file);
	writer_free(&text);
}

static void expect_found(const struct sample_code *code, const char *written_by,
			 const char *expected)
{
	struct writer file = marshal_of(code, written_by);
	const struct python *python = NULL;
	struct fault fault;
	int err = show_detect(file.bytes, file.size, &python, &fault);

	if (!expected)
		assert_int_equal(err, -ENOTSUP);
	else if (err)
		fail_msg("%s, not %s", fault.why, expected);
	else
		assert_string_equal(python->name, expected);
	writer_free(&file);
}

static void a_page_has_the_columns_of_its_python(void **state)
{
	static const struct sample_code old = { CODE("d\0S\0"), .flags = 0x40,
						.first_line = 7 };
	static const struct sample_code new = { CODE("\x97\0d\0S\0"),
						LINES("\xd0\0\xd9\0"),
						.first_line = 7 };
	static const struct sample_code newest = { CODE("\x95\0S\0$\0"),
						   LINES("\xd0\0\xd9\0"),
						   .first_line = 7 };

	(void)state;
	expect_dis(&old, "3.8",
		   "  7           0 LOAD_CONST               0 (None)\n"
		   "              2 RETURN_VALUE\n");
	expect_dis(&new, "3.11",
		   "  7           0 RESUME                   0\n\n"
		   "  8           2 LOAD_CONST               0 (None)\n"
		   "              4 RETURN_VALUE\n");
	expect_dis(&newest, "3.13",
		   "  7           RESUME                   0\n\n"
		   "  8           LOAD_CONST               0 (None)\n"
		   "              RETURN_VALUE\n");
}

static void columns_grow_with_what_is_in_them(void **state)
{
	static const struct sample_code far = { CODE("\x97\0d\0S\0"),
						LINES("\xd0\0\xd9\0"),
						.first_line = 99999 };
	static const struct sample_code none = { CODE("\x95\0S\0$\0"),
						 LINES("\xf8\xd1\0"),
						 .first_line = 5 };
	static const struct sample_code nowhere = { CODE("\x95\0S\0$\0"),
						    LINES("\xfa") };

	(void)state;
	expect_dis(&far, "3.12",
		   " 99999           0 RESUME                   0\n\n"
		   "100000           2 LOAD_CONST               0 (None)\n"
		   "                 4 RETURN_VALUE\n");
	expect_dis(&none, "3.13",
		   "  --           RESUME                   0\n\n"
		   "   5           LOAD_CONST               0 (None)\n"
		   "               RETURN_VALUE\n");
	expect_dis(&nowhere, "3.13",
		   "          RESUME                   0\n"
		   "          LOAD_CONST               0 (None)\n"
		   "          RETURN_VALUE\n");
}

static void targets_and_handlers_are_marked(void **state)
{
	static const char exceptions[] = "\x81\1\2\2\x82\1\2\3";
	static const struct sample_code code = {
		CODE("\x97\0d\0S\0"), LINES("\xd2\0"), .first_line = 1,
		.exceptions = exceptions,
		.exceptions_size = sizeof(exceptions) - 1
	};
	static const struct sample_code newest = {
		CODE("\x95\0S\0$\0"), LINES("\xd2\0"), .first_line = 1,
		.exceptions = exceptions,
		.exceptions_size = sizeof(exceptions) - 1
	};

	(void)state;
	expect_dis(&code, "3.11",
		   "  1           0 RESUME                   0\n"
		   "              2 LOAD_CONST               0 (None)\n"
		   "        >>    4 RETURN_VALUE\n"
		   "ExceptionTable:\n"
		   "  2 to 2 -> 4 [1]\n"
		   "  4 to 4 -> 4 [1] lasti\n");
	expect_dis(&newest, "3.13",
		   "  1           RESUME                   0\n"
		   "      L1:     LOAD_CONST               0 (None)\n"
		   "      L2:     RETURN_VALUE\n"
		   "ExceptionTable:\n"
		   "  L1 to L2 -> L2 [1]\n"
		   "  L2 to L3 -> L2 [1] lasti\n");
}

static void the_version_is_the_one_that_could_have_written_it(void **state)
{
	/* 3.9 has no RERAISE argument, 3.10 counts jumps in units, ... */
	static const struct sample_code plain = { CODE("d\0S\0"),
						  .flags = 0x40 };
	static const struct sample_code ranges = { CODE("d\0S\0"),
						   LINES("\4\0"),
						   .flags = 0x40 };
	static const struct sample_code chained = { CODE("d\0d\0k\6S\0"),
						    .flags = 0x40 };
	static const struct sample_code precall = {
		CODE("\x97\0d\0\xa6\0\0\0\xab\0\0\0\0\0\0\0\0\0S\0"),
		LINES("\xd7\0\xd1\0")
	};
	static const struct sample_code neither = { CODE("\x97\0d\0S\0"),
						    LINES("\xd2\0") };
	static const struct sample_code other = { CODE("\x97\0d\0\1\0S\0"),
						  LINES("\xd3\0") };
	static const struct sample_code newer = { CODE("\x95\0S\0$\0"),
						  LINES("\xd2\0") };
	static const struct sample_code newest = { CODE("\x80\0R\0#\0"),
						   LINES("\xd2\0") };
	static const struct sample_code sliced = { CODE("\x80\0R\0#\0"),
						   CONSTS(")\1:NNN"),
						   LINES("\xd2\0") };
	static const struct sample_code later = { CODE("\x80\0\xe9\0#\0"),
						  LINES("\xd2\0") };

	(void)state;
	expect_found(&plain, "3.8", "3.9");
	expect_found(&chained, "3.8", "3.8");
	expect_found(&ranges, "3.10", "3.10");
	expect_found(&precall, "3.11", "3.11");
	expect_found(&neither, "3.11", "3.11");
	expect_found(&other, "3.12", "3.12");
	expect_found(&newer, "3.13", "3.13");
	expect_found(&newest, "3.14", "3.14");
	expect_found(&sliced, "3.14", "3.14");
	expect_found(&later, "3.14", NULL);
}

static void a_given_python_is_held_to_its_rules(void **state)
{
	static const struct sample_code code = { CODE("\x97\0d\0S\0"),
						 LINES("\xd2\0") };
	struct writer file = marshal_of(&code, "3.11");
	struct writer text = writer_upto(LIMIT);
	struct fault fault;

	(void)state;
	assert_int_equal(show_dis(file.bytes, file.size, python_named("3.12"),
				  &text, &fault),
			 0);
	assert_int_equal(show_dis(file.bytes, file.size, python_named("3.14"),
				  &text, &fault),
			 -ENOTSUP);
	assert_int_equal(show_dis(file.bytes, file.size, python_named("3.10"),
				  &text, &fault),
			 -EBADMSG);
	assert_null(python_named("3.7"));
	assert_null(python_named("3.15"));
	writer_free(&file);
	writer_free(&text);
}

/* One object that many refer to; each has the next among its constants. */
static void what_is_shown_many_times_ends_at_the_limit(void **state)
{
	struct writer consts = writer_upto(LIMIT);
	struct sample_code code = { CODE("\x97\0d\0S\0"), LINES("\xd2\0") };
	struct writer file, text = writer_upto(LIMIT);
	struct fault fault;

	(void)state;
	for (int level = 0; level < 20; level++) {
		struct writer next = writer_upto(LIMIT);

		code.consts = level ? consts.bytes : NULL;
		code.consts_size = consts.size;
		/* Flagged objects: deeper ones take later numbers. */
		writer_put(&next, ")\2\xe3", 3);
		sample_code_write(&next, &code, LAYOUT_NEW);
		memmove(next.bytes + 3, next.bytes + 4, next.size - 4);
		next.size--;
		writer_u8(&next, 'r');
		writer_le32(&next, (uint32_t)(19 - level));
		writer_free(&consts);
		consts = next;
	}
	code.consts = consts.bytes;
	code.consts_size = consts.size;
	file = marshal_of(&code, "3.11");
	assert_int_equal(show_dis(file.bytes, file.size, NULL, &text, &fault),
			 -EFBIG);
	assert_string_equal(fault.why, "its text is longer than allowed");
	writer_free(&file);
	writer_free(&text);
	writer_free(&consts);
}

static void expect_user_class(const char *constant, const char *shown)
{
	struct dis_options options = { .user_classes = true, .work = LIMIT };
	struct writer consts = writer_upto(LIMIT), text = writer_upto(LIMIT);
	struct sample_code code = { CODE("\x97\0d\0S\0"), LINES("\xd2\0") };
	struct arena arena = arena_upto(LIMIT);
	struct writer file;
	struct reader in;
	struct marshal marshal;
	struct fault fault;

	writer_put(&consts, ")\1z", 3);
	writer_u8(&consts, (uint8_t)strlen(constant));
	writer_string(&consts, constant);
	code.consts = consts.bytes;
	code.consts_size = consts.size;
	file = marshal_of(&code, "3.11");
	options.start = file.bytes;
	in = reader_over(file.bytes, file.size);
	assert_int_equal(marshal_read(&in, LAYOUT_NEW, &arena, &marshal), 0);
	assert_int_equal(dis_write(&text, python_named("3.11"), &marshal,
				   &arena, &options, &fault),
			 0);
	writer_u8(&text, 0);
	if (!strstr((const char *)text.bytes, shown))
		fail_msg("%s in %s", shown, (const char *)text.bytes);
	writer_free(&consts);
	writer_free(&file);
	writer_free(&text);
	arena_free(&arena);
}

static void a_stand_in_is_shown_as_the_class_it_stands_for(void **state)
{
	(void)state;
	expect_user_class("<user_class>torch.nn|Linear",
			  "(<class 'torch.nn.Linear'>)");
	expect_user_class("<user_class>builtins|int", "(<class 'int'>)");
	expect_user_class("<user_class>a|b|c", "('<user_class>a|b|c')");
	expect_user_class("<user_class>", "('<user_class>')");
	expect_user_class(" <user_class>a|b", "(' <user_class>a|b')");
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_page_has_the_columns_of_its_python),
		cmocka_unit_test(columns_grow_with_what_is_in_them),
		cmocka_unit_test(targets_and_handlers_are_marked),
		cmocka_unit_test(
			the_version_is_the_one_that_could_have_written_it),
		cmocka_unit_test(a_given_python_is_held_to_its_rules),
		cmocka_unit_test(what_is_shown_many_times_ends_at_the_limit),
		cmocka_unit_test(
			a_stand_in_is_shown_as_the_class_it_stands_for),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
