/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of python.h, as far as they are words; and, where TACFS_SHARED
 * says that there is some, all of them against the shared material, which the
 * interpreters have written.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/python.h"
#include "tests/unit/compiler_files.h"

enum { OPCODES = 256, FIELDS = 7 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))

/* A list of words, and how long it is in each Python. */
static const struct list {
	const char *name;
	size_t offset;
	size_t counts[PYTHON_COUNT];
} lists[] = {
#define LIST(name, member, ...)                                                \
	{                                                                      \
		name, offsetof(struct python, member),                         \
		{                                                              \
			__VA_ARGS__                                            \
		}                                                              \
	}
	LIST("compare", compare, 11, 6, 6, 6, 6, 6, 6),
	LIST("binop", binop, 0, 0, 0, 26, 26, 26, 27),
	LIST("intrinsic1", intrinsic1, 0, 0, 0, 0, 12, 12, 12),
	LIST("intrinsic2", intrinsic2, 0, 0, 0, 0, 5, 6, 6),
	LIST("special", special, 0, 0, 0, 0, 0, 0, 4),
	LIST("common", common, 0, 0, 0, 0, 0, 0, 5),
	LIST("fnattr", function, 4, 4, 4, 4, 4, 4, 5),
	LIST("convert", convert, 4, 4, 4, 4, 4, 4, 4),
};

static const struct words *words_of(const struct python *python,
				    const struct list *list)
{
	return (const struct words *)((const char *)python + list->offset);
}

static void check_words(const struct python *python, const struct list *list,
			size_t count)
{
	const struct words *words = words_of(python, list);

	if (words->count != count)
		fail_msg("%s: %s has %zu words", python->name, list->name,
			 words->count);
	for (size_t i = 0; i < count; i++) {
		bool plain = strcmp(list->name, "convert") == 0 && i == 0;

		assert_non_null(words->at[i]);
		if ((words->at[i][0] == '\0') != plain)
			fail_msg("%s: %s[%zu]", python->name, list->name, i);
		for (size_t j = 0; j < i; j++)
			assert_string_not_equal(words->at[i], words->at[j]);
	}
}

static void lists_have_no_gaps(void **state)
{
	(void)state;
	for (size_t l = 0; l < COUNT_OF(lists); l++)
		for (size_t i = 0; i < PYTHON_COUNT; i++)
			check_words(python_at(i), &lists[l],
				    lists[l].counts[i]);
}

static void check_start(const struct words *words, const struct words *start,
			size_t count)
{
	assert_true(words->count >= count && start->count >= count);
	for (size_t i = 0; i < count; i++)
		assert_string_equal(words->at[i], start->at[i]);
}

/* So a number that one Python names is no other word in the next. */
static void lists_only_grow(void **state)
{
	(void)state;
	for (size_t l = 0; l < COUNT_OF(lists); l++)
		for (size_t i = 1; i < PYTHON_COUNT; i++) {
			const struct words *before =
				words_of(python_at(i - 1), &lists[l]);
			size_t kept = before->count;

			/* `in`, `is` and `except` have opcodes since 3.9. */
			if (i == 1 && strcmp(lists[l].name, "compare") == 0)
				kept = lists[l].counts[1];
			check_start(words_of(python_at(i), &lists[l]), before,
				    kept);
		}
}

/* Arguments that words are found by, and the bits beside the operator. */
static void lists_are_there_where_an_opcode_needs_them(void **state)
{
	static const unsigned shifts[PYTHON_COUNT] = { 0, 0, 0, 0, 4, 5, 5 };

	(void)state;
	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);
		bool forms[FORM_IN + 1] = { false };

		for (size_t n = 0; n < OPCODES; n++)
			if (python->opcodes[n].name)
				forms[python->opcodes[n].form] = true;
		assert_true(forms[FORM_COMPARE]);
		assert_true(forms[FORM_MAKEFN] != forms[FORM_SETFN]);
		assert_true(forms[FORM_FORMAT] != forms[FORM_CONVERT]);
		assert_int_equal(forms[FORM_BINOP], python->binop.count > 0);
		assert_int_equal(forms[FORM_INTR1],
				 python->intrinsic1.count > 0);
		assert_int_equal(forms[FORM_INTR2],
				 python->intrinsic2.count > 0);
		assert_int_equal(forms[FORM_COMMON], python->common.count > 0);
		assert_int_equal(forms[FORM_SPECIAL],
				 python->special.count > 0);
		assert_int_equal(python->compare_shift, shifts[i]);
	}
}

static const char *const form_names[] = {
	[FORM_NONE] = "NONE",
	[FORM_RAW] = "RAW",
	[FORM_CONST] = "CONST",
	[FORM_NAME] = "NAME",
	[FORM_NAME_GLOBAL] = "NAME_GLOBAL",
	[FORM_NAME_ATTR] = "NAME_ATTR",
	[FORM_NAME_SUPER] = "NAME_SUPER",
	[FORM_LOCAL] = "LOCAL",
	[FORM_LOCAL2] = "LOCAL2",
	[FORM_FREE] = "FREE",
	[FORM_JREL] = "JREL",
	[FORM_JBACK] = "JBACK",
	[FORM_JABS] = "JABS",
	[FORM_JFROM] = "JFROM",
	[FORM_COMPARE] = "COMPARE",
	[FORM_FORMAT] = "FORMAT",
	[FORM_CONVERT] = "CONVERT",
	[FORM_MAKEFN] = "MAKEFN",
	[FORM_SETFN] = "SETFN",
	[FORM_BINOP] = "BINOP",
	[FORM_INTR1] = "INTR1",
	[FORM_INTR2] = "INTR2",
	[FORM_COMMON] = "COMMON",
	[FORM_SPECIAL] = "SPECIAL",
	[FORM_IS] = "IS",
	[FORM_IN] = "IN",
};

/* Splits a line at its tabs, in place; what is missing is empty. */
static void line_split(char *line, const char *fields[static FIELDS])
{
	for (size_t i = 0; i < FIELDS; i++) {
		const char *field = strsep(&line, "\t");

		fields[i] = field ? field : "";
	}
}

/* Calls `check` for each line but the first. Returns how many it took. */
static size_t each_line(const char *path,
			bool (*check)(const char *const fields[static FIELDS]))
{
	char *text = file_text(path);
	char *rest = text;
	size_t taken = 0;

	strsep(&rest, "\n");
	while (rest && *rest) {
		const char *fields[FIELDS];

		line_split(strsep(&rest, "\n"), fields);
		taken += check(fields);
	}
	free(text);
	return taken;
}

static size_t number(const char *field)
{
	return strtoul(field, NULL, 10);
}

/* version, op, name, hasarg, form, caches, stored */
static bool check_opcode(const char *const f[static FIELDS])
{
	const struct python *python = python_named(f[0]);
	size_t at = number(f[1]);
	const struct opcode *op;

	assert_non_null(python);
	assert_true(at < OPCODES);
	op = &python->opcodes[at];
	if (strcmp(f[6], "0") == 0) {
		assert_null(op->name);
		return false;
	}
	if (!op->name)
		fail_msg("%s has no %s", python->name, f[2]);
	assert_string_equal(op->name, f[2]);
	assert_int_equal(op->form != FORM_NONE, number(f[3]));
	assert_string_equal(form_names[op->form], f[4]);
	assert_int_equal(op->caches, number(f[5]));
	return true;
}

/* version, list, index, text */
static bool check_word(const char *const f[static FIELDS])
{
	const struct python *python = python_named(f[0]);
	size_t at = number(f[2]);

	assert_non_null(python);
	/* 3.8 has a word for what is no comparison. */
	if (strcmp(f[3], "BAD") == 0)
		return false;
	for (size_t l = 0; l < COUNT_OF(lists); l++) {
		const struct words *words = words_of(python, &lists[l]);

		if (strcmp(lists[l].name, f[1]) != 0)
			continue;
		assert_true(at < words->count);
		assert_string_equal(words->at[at], f[3]);
		return true;
	}
	fail_msg("there is no list %s", f[1]);
	return false;
}

static size_t opcodes_in_all(void)
{
	size_t count = 0;

	for (size_t i = 0; i < PYTHON_COUNT; i++)
		for (size_t n = 0; n < OPCODES; n++)
			count += python_at(i)->opcodes[n].name != NULL;
	return count;
}

static size_t words_in_all(void)
{
	size_t count = 0;

	for (size_t l = 0; l < COUNT_OF(lists); l++)
		for (size_t i = 0; i < PYTHON_COUNT; i++)
			count += words_of(python_at(i), &lists[l])->count;
	return count;
}

/* Each line is found, and so many there are: nothing is there besides. */
static void the_opcodes_are_those_of_the_interpreters(void **state)
{
	char room[4096];
	const char *table =
		shared_path("cpython/tables/opcodes.tsv", room, sizeof(room));

	(void)state;
	if (!table)
		skip();
	assert_int_equal(each_line(table, check_opcode), opcodes_in_all());
}

static void the_words_are_those_of_the_interpreters(void **state)
{
	char room[4096];
	const char *table =
		shared_path("cpython/tables/args.tsv", room, sizeof(room));

	(void)state;
	if (!table)
		skip();
	assert_int_equal(each_line(table, check_word), words_in_all());
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(lists_have_no_gaps),
		cmocka_unit_test(lists_only_grow),
		cmocka_unit_test(lists_are_there_where_an_opcode_needs_them),
		cmocka_unit_test(the_opcodes_are_those_of_the_interpreters),
		cmocka_unit_test(the_words_are_those_of_the_interpreters),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
