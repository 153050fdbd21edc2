/* SPDX-License-Identifier: Apache-2.0 */
/* Lines, exceptions, instructions: what lies in a code object as bytes. */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/exceptions.h"
#include "compiler/python/lines.h"
#include "compiler/python/program.h"
#include "tests/unit/python_values.h"

enum { ARENA_LIMIT = 1 << 20, STARTS_MAX = 8 };

#define BYTES(letters)                                                         \
	{                                                                      \
		(const uint8_t *)(letters), sizeof(letters) - 1                \
	}

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

struct line_case {
	const char *python;
	struct text table;
	size_t code_size;
	struct line_start starts[STARTS_MAX];
	size_t count;
};

static const struct line_case line_cases[] = {
	{ "3.8", BYTES(""), 4, { { 0, 10, true } }, 1 },
	{ "3.8",
	  BYTES("\0\1\4\2"),
	  8,
	  { { 0, 11, true }, { 4, 13, true } },
	  2 },
	{ "3.9",
	  BYTES("\2\1\2\xff\2\0"),
	  8,
	  { { 0, 10, true }, { 2, 11, true }, { 4, 10, true } },
	  3 },
	/* What lies at the end of the code ends the table. */
	{ "3.9",
	  BYTES("\2\1\4\1"),
	  4,
	  { { 0, 10, true }, { 2, 11, true } },
	  2 },
	{ "3.10",
	  BYTES("\4\1\2\x80\2\0\2\1"),
	  10,
	  { { 0, 11, true }, { 8, 12, true } },
	  2 },
	{ "3.10", BYTES("\0\x7f\2\1"), 2, { { 0, 138, true } }, 1 },
	/* One line, two units, then three on, then none. */
	{ "3.11",
	  BYTES("\xf1\0\xd0\0\xe8\6\xf8\xe8\3"),
	  12,
	  { { 0, 10, true }, { 6, 13, true }, { 10, 12, true } },
	  3 },
	{ "3.12", BYTES("\xff\xff"), 32, { { 0, 0, false } }, 0 },
	{ "3.13",
	  BYTES("\xf8\xe8\2\xf8\xf8\xd8"),
	  10,
	  { { 0, 0, false },
	    { 2, 11, true },
	    { 4, 0, false },
	    { 8, 12, true } },
	  4 },
};

static void check_lines(const struct line_case *c)
{
	struct code code = { .first_line = 10, .lines = c->table };
	struct lines lines;
	struct line_start start;
	size_t count = 0;

	code.bytecode.size = c->code_size;
	lines = lines_of(python_named(c->python), &code);
	for (; lines_next(&lines, &start); count++) {
		assert_true(count < c->count);
		assert_int_equal(start.offset, c->starts[count].offset);
		assert_int_equal(start.has_line, c->starts[count].has_line);
		if (start.has_line)
			assert_int_equal(start.line, c->starts[count].line);
	}
	assert_int_equal(count, c->count);
	assert_int_equal(lines.table.err, 0);
}

static void line_tables_of_all_kinds_say_where_lines_start(void **state)
{
	(void)state;
	for (size_t i = 0; i < sizeof(line_cases) / sizeof(line_cases[0]); i++)
		check_lines(&line_cases[i]);
}

static void line_tables_that_are_none_are_refused(void **state)
{
	static const struct text cases[] = {
		BYTES("\x58"),		 /* no start */
		BYTES("\xe8"),		 /* no varint */
		BYTES("\xe8\x40\xe8\1"), /* it does not end */
		BYTES("\xe8\x7f\x7f\x7f\x7f\x7f\x7f\x7f\x7f\1"), /* long */
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct code code = { .lines = cases[i] };
		struct lines lines = lines_of(python_named("3.12"), &code);
		struct line_start start;

		while (lines_next(&lines, &start))
			;
		assert_int_equal(lines.table.err, -EBADMSG);
	}
}

static void handlers_are_read_up_to_the_last_whole_one(void **state)
{
	struct code code = { .exceptions =
				     BYTES("\x81\2\3\5\x80\x41\1\2\0\x83") };
	struct handlers handlers = handlers_of(&code);
	struct handler first, second;

	(void)state;
	assert_true(handlers_next(&handlers, &first));
	assert_true(handlers_next(&handlers, &second));
	assert_false(handlers_next(&handlers, &first));
	assert_null(handlers.why);
	assert_int_equal(first.start, 2);
	assert_int_equal(first.end, 6);
	assert_int_equal(first.target, 6);
	assert_int_equal(first.depth, 2);
	assert_true(first.lasti);
	assert_int_equal(second.start, 0);
	assert_int_equal(second.end, 2 * 65);
	assert_false(second.lasti);
}

static void handlers_out_of_all_proportion_are_refused(void **state)
{
	struct code code = { .exceptions = BYTES(
				     "\xff\x7f\x7f\x7f\x7f\x7f\x3f\1\1\1") };
	struct handlers handlers = handlers_of(&code);
	struct handler handler;

	(void)state;
	assert_false(handlers_next(&handlers, &handler));
	assert_non_null(handlers.why);
}

/* A code object with two constants, names and locals. */
static struct code code_with(const struct value **twice, struct text bytecode)
{
	struct code code = { .bytecode = bytecode,
			     .consts = { twice, 2 },
			     .names = { twice, 2 },
			     .locals = { twice, 2 } };

	return code;
}

struct bytecode_case {
	const char *python;
	struct text bytecode;
};

static const char *refusal(struct arena *arena, const struct bytecode_case *c,
			   struct program *program)
{
	static const struct value value = { .type = VALUE_ATOM };
	const struct value *twice[] = { &value, &value };
	struct code code = code_with(twice, c->bytecode);

	assert_int_equal(program_read(python_named(c->python), &code,
				      PROGRAM_STRICT, arena, program),
			 0);
	return program->why;
}

static void bytecode_that_each_python_writes_is_read(void **state)
{
	static const struct bytecode_case cases[] = {
		{ "3.8", BYTES("d\1S\0") },
		{ "3.8", BYTES("n\0q\0") },	   /* jumps */
		{ "3.9", BYTES("\x90\0d\0S\0") },  /* EXTENDED_ARG 0 */
		{ "3.10", BYTES("n\0q\1") },	   /* in units */
		{ "3.11", BYTES("\x97\0d\0S\0") }, /* RESUME */
		{ "3.11", BYTES("t\3\0\0\0\0\0\0\0\0\0\0") }, /* global */
		{ "3.12", BYTES("\x97\0\x79\1") },	      /* RETURN_CONST */
		{ "3.13", BYTES("\x95\0S\1$\0") },
		{ "3.14", BYTES("\x80\0^\xff#\0") },
		{ "3.14", BYTES("\x80\0K\2\0\0") }, /* onto itself */
	};
	struct program program;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = refusal(*state, &cases[i], &program);

		if (why)
			fail_msg("case %zu: %s", i, why);
	}
}

static void bytecode_that_none_writes_is_refused(void **state)
{
	static const struct bytecode_case cases[] = {
		{ "3.11", BYTES("") },
		{ "3.11", BYTES("\0\0") },   /* a cache alone */
		{ "3.11", BYTES("\xff\0") }, /* no opcode */
		{ "3.11", BYTES("d\2S\0") }, /* two constants */
		{ "3.11", BYTES("e\2S\0") }, /* two names */
		{ "3.11", BYTES("|\2S\0") }, /* two locals */
		{ "3.11", BYTES("t\4\0\0\0\0\0\0\0\0\0\0") },
		{ "3.11", BYTES("t\3\0\0") },		      /* caches cut */
		{ "3.11", BYTES("t\3\0\0\0\0\0\0\0\0\0\1") }, /* used */
		{ "3.11", BYTES("n\1S\0") },	/* beyond the end */
		{ "3.11", BYTES("\x8c\2S\0") }, /* before the start */
		{ "3.11", BYTES("n\1t\1\0\0\0\0\0\0\0\0\0\0") },
		{ "3.11", BYTES("\x90\1\x90\1\x90\1\x90\1d\0") },
		{ "3.11", BYTES("\x90\xff\x90\xff\x90\xff\x83\xff") },
		{ "3.11", BYTES("k\6\0\0\0\0") }, /* six comparisons */
		{ "3.11", BYTES("z\x1a\0\0") },	  /* 26 operators */
		{ "3.9", BYTES("u\2S\0") },	  /* IS_OP */
		{ "3.8", BYTES("n\1S\0") },	  /* odd */
		{ "3.13", BYTES("\x58\x20\x45\0") },
		{ "3.14", BYTES("l\3#\0") }, /* two attributes */
		{ "3.14", BYTES("4\0") },
	};
	struct program program;

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!refusal(*state, &cases[i], &program))
			fail_msg("case %zu was accepted", i);
}

static void arguments_are_put_together_and_jumps_resolved(void **state)
{
	const struct bytecode_case c = { "3.12",
					 BYTES("\x97\0n\2\x90\1d\0S\0d\1S\0") };
	const struct bytecode_case extended = {
		"3.12", BYTES("\x97\0\x90\1\x90\2\x66\3S\0")
	};
	struct program program;

	assert_string_equal(refusal(*state, &c, &program),
			    "an argument is out of range");
	assert_null(refusal(*state, &extended, &program));
	assert_int_equal(program.count, 5);
	assert_int_equal(program.instructions[3].argument, 0x010203);
	assert_int_equal(program.instructions[3].offset, 6);
	assert_true(program_has(&program, 8));
	assert_false(program_has(&program, 10));
	assert_false(program_has(&program, 7));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, with_arena, without_arena)
		TEST(line_tables_of_all_kinds_say_where_lines_start),
		TEST(line_tables_that_are_none_are_refused),
		TEST(handlers_are_read_up_to_the_last_whole_one),
		TEST(handlers_out_of_all_proportion_are_refused),
		TEST(bytecode_that_each_python_writes_is_read),
		TEST(bytecode_that_none_writes_is_refused),
		TEST(arguments_are_put_together_and_jumps_resolved),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
