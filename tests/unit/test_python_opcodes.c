/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The tables of opcodes, held against each other: what is the same in several
 * Pythons, but for changes that are known, has not been mistyped in one.
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

enum { OPCODES = 256, FIRST_MINOR = 8, LAST_BY_HAND = 12, ALWAYS = 99 };

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define ANY		UINT32_MAX

/* A claim about one name, in the Pythons from 3.`since` to 3.`until`. */
struct span {
	unsigned since;
	unsigned until;
};

static bool span_has(struct span span, const struct python *python)
{
	return span.since <= python->minor && python->minor <= span.until;
}

static const struct opcode *opcode_named(const struct python *python,
					 const char *name)
{
	for (size_t i = 0; i < OPCODES; i++)
		if (python->opcodes[i].name &&
		    strcmp(python->opcodes[i].name, name) == 0)
			return &python->opcodes[i];
	return NULL;
}

static unsigned number_of(const struct python *python, const struct opcode *op)
{
	return (unsigned)(op - python->opcodes);
}

/* Calls `check` for each opcode of each Python. Returns how many there are. */
static size_t each_opcode(void (*check)(const struct python *python,
					const struct opcode *op))
{
	size_t count = 0;

	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);

		for (size_t n = 0; n < OPCODES; n++) {
			if (!python->opcodes[n].name)
				continue;
			check(python, &python->opcodes[n]);
			count++;
		}
	}
	return count;
}

/* Where a name was last, before 3.`minor`; NULL when it is new there. */
static const struct opcode *previous(unsigned minor, const char *name,
				     unsigned *last)
{
	const struct opcode *found = NULL;

	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);
		const struct opcode *op;

		if (python->minor >= minor)
			break;
		op = opcode_named(python, name);
		if (op) {
			found = op;
			*last = python->minor;
		}
	}
	return found;
}

static void pythons_are_in_order_and_found_by_name(void **state)
{
	(void)state;
	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);
		char name[16];

		snprintf(name, sizeof(name), "3.%zu", FIRST_MINOR + i);
		assert_string_equal(python->name, name);
		assert_int_equal(python->minor, FIRST_MINOR + i);
		assert_ptr_equal(python_named(name), python);
		assert_int_equal(python->layout,
				 python->minor < 11 ? LAYOUT_OLD : LAYOUT_NEW);
		if (i)
			assert_true(python_at(i - 1)->unicode <=
				    python->unicode);
	}
}

static void check_name(const struct python *python, const struct opcode *op)
{
	if (opcode_named(python, op->name) != op)
		fail_msg("%s: two opcodes are %s", python->name, op->name);
}

static void no_name_is_there_twice(void **state)
{
	(void)state;
	each_opcode(check_name);
}

/* The numbers that the compiler of each Python writes, and how many. */
static const struct numbers {
	const char *python;
	size_t count;
	unsigned first_with_argument; /* HAVE_ARGUMENT; 3.13 counts from 0 */
	const char *runs;
} numbers[PYTHON_COUNT] = {
	{ "3.8", 120, 90,
	  "1-6 9-12 15-17 19-20 22-29 50-57 59-73 75-79 81-98 100-116 122 "
	  "124-126 130-133 135-138 141-158 160-163" },
	{ "3.9", 119, 90,
	  "1-6 9-12 15-17 19-20 22-29 48-52 54-57 59-79 82-87 89-98 100-118 "
	  "121-122 124-126 130-133 135-138 141-148 154-157 160-165" },
	{ "3.10", 127, 90,
	  "1-6 9-12 15-17 19-20 22-34 49-52 54-57 59-79 82-87 89-119 121-122 "
	  "124-126 129-133 135-138 141-148 152 154-157 160-165" },
	{ "3.11", 109, 90,
	  "1-2 9-12 15 25 30-33 35-37 49-54 60-61 68-71 74-75 82-112 114-120 "
	  "122-126 128-140 142 144-149 151-152 155-157 160 162-166 171-176" },
	{ "3.12", 108, 90,
	  "1-2 4-5 9 11-12 15 25-27 30-33 35-37 49-55 60-61 68-69 71 74-75 83 "
	  "85 87 89-110 114-147 149-152 155-157 162-165 171-176" },
	{ "3.13", 114, 45, "1-2 4-12 14-16 18-21 23-69 71-118 149" },
	{ "3.14", 117, 44, "1-2 4-10 12-16 18-19 21-120 128" },
};

/* Marks what "1-6 9" names. */
static void runs_read(const char *runs, bool in_runs[static OPCODES])
{
	char *end = NULL;

	for (const char *at = runs; *at; at = end + (*end == ' ')) {
		unsigned long first = strtoul(at, &end, 10), last = first;

		if (*end == '-')
			last = strtoul(end + 1, &end, 10);
		assert_true(first <= last && last < OPCODES);
		for (; first <= last; first++)
			in_runs[first] = true;
	}
}

static void check_numbers(const struct python *python,
			  const struct numbers *expected)
{
	bool in_runs[OPCODES] = { false };
	size_t count = 0;

	assert_non_null(expected->python);
	assert_string_equal(python->name, expected->python);
	runs_read(expected->runs, in_runs);
	for (unsigned n = 0; n < OPCODES; n++) {
		bool here = python->opcodes[n].name != NULL;

		if (here != in_runs[n])
			fail_msg("%s: opcode %u is %s", python->name, n,
				 here ? "too many" : "missing");
		count += here;
	}
	assert_int_equal(count, expected->count);
}

static void every_opcode_that_is_stored_has_a_row(void **state)
{
	(void)state;
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		check_numbers(python_at(i), &numbers[i]);
}

static void check_has_argument(const struct python *python,
			       const struct opcode *op)
{
	unsigned first =
		numbers[python->minor - FIRST_MINOR].first_with_argument;

	if ((op->form != FORM_NONE) != (number_of(python, op) >= first))
		fail_msg("%s: %s has%s an argument", python->name, op->name,
			 op->form == FORM_NONE ? " not" : "");
}

static void the_number_says_whether_there_is_an_argument(void **state)
{
	(void)state;
	each_opcode(check_has_argument);
}

/* Who has moved, while people gave out the numbers. */
static const struct {
	const char *name;
	unsigned since;
	unsigned number;
} moves[] = {
	/* They got an argument, so a number from 90 on. */
	{ "RERAISE", 10, 119 },
	{ "GET_AWAITABLE", 11, 131 },
	{ "YIELD_VALUE", 12, 150 },
	/* They made room for MAKE_CELL. */
	{ "LOAD_CLOSURE", 11, 136 },
	{ "LOAD_DEREF", 11, 137 },
	{ "STORE_DEREF", 11, 138 },
	{ "DELETE_DEREF", 11, 139 },
};

static void check_move(const struct python *python, const struct opcode *op)
{
	unsigned last = 0, expected;
	const struct opcode *before = previous(python->minor, op->name, &last);

	if (!before || python->minor > LAST_BY_HAND)
		return;
	expected = number_of(python_at(last - FIRST_MINOR), before);
	for (size_t i = 0; i < COUNT_OF(moves); i++)
		if (moves[i].since == python->minor &&
		    strcmp(moves[i].name, op->name) == 0)
			expected = moves[i].number;
	if (number_of(python, op) != expected)
		fail_msg("%s: %s is not %u", python->name, op->name, expected);
}

static void numbers_change_only_in_known_ways(void **state)
{
	(void)state;
	each_opcode(check_move);
}

/* RESUME apart, which has a number of its own. */
static void since_3_13_numbers_follow_the_alphabet(void **state)
{
	(void)state;
	for (size_t i = LAST_BY_HAND + 1 - FIRST_MINOR; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);
		const char *last = "";

		for (size_t n = 0; n < OPCODES; n++) {
			const struct opcode *op = &python->opcodes[n];

			if (!op->name || op->role == ROLE_RESUME)
				continue;
			if (n == numbers[i].first_with_argument)
				last = "";
			if (strcmp(last, op->name) >= 0)
				fail_msg("%s: %s comes after %s", python->name,
					 op->name, last);
			last = op->name;
		}
	}
}

/* What an argument has come to mean, though the name stayed. */
static const struct form_change {
	const char *name;
	unsigned since;
	enum form before;
	enum form after;
} form_changes[] = {
	/* It says whether to restore f_lasti. */
	{ "RERAISE", 10, FORM_NONE, FORM_RAW },
	/* It says where the await is: in `async with`, or elsewhere. */
	{ "GET_AWAITABLE", 11, FORM_NONE, FORM_RAW },
	/* No jump is absolute any more. */
	{ "JUMP_IF_FALSE_OR_POP", 11, FORM_JABS, FORM_JREL },
	{ "JUMP_IF_TRUE_OR_POP", 11, FORM_JABS, FORM_JREL },
	/* The same; 3.11 had them by other names, one for each direction. */
	{ "POP_JUMP_IF_FALSE", 12, FORM_JABS, FORM_JREL },
	{ "POP_JUMP_IF_TRUE", 12, FORM_JABS, FORM_JREL },
	/* Bit 0 took over from PUSH_NULL, and from LOAD_METHOD. */
	{ "LOAD_GLOBAL", 11, FORM_NAME, FORM_NAME_GLOBAL },
	{ "LOAD_ATTR", 12, FORM_NAME, FORM_NAME_ATTR },
	/* A constant in 3.11 too, but its dis does not show it. */
	{ "KW_NAMES", 12, FORM_RAW, FORM_CONST },
	/* How deep in handlers; since 3.13 whether it is part of an await. */
	{ "YIELD_VALUE", 12, FORM_NONE, FORM_RAW },
	/* SET_FUNCTION_ATTRIBUTE has the bits. */
	{ "MAKE_FUNCTION", 13, FORM_MAKEFN, FORM_NONE },
	/* There is always a place for keywords on the stack. */
	{ "CALL_FUNCTION_EX", 14, FORM_RAW, FORM_NONE },
	/* Where the loop comes from, for the events of sys.monitoring. */
	{ "END_ASYNC_FOR", 14, FORM_NONE, FORM_JFROM },
	/* dis says what is compared how. */
	{ "IS_OP", 14, FORM_RAW, FORM_IS },
	{ "CONTAINS_OP", 14, FORM_RAW, FORM_IN },
	/* opcode counts it among the locals; the text is the same. */
	{ "LOAD_DEREF", 14, FORM_FREE, FORM_LOCAL },
};

static const struct form_change *form_change_of(const char *name,
						unsigned minor)
{
	for (size_t i = 0; i < COUNT_OF(form_changes); i++)
		if (form_changes[i].since == minor &&
		    strcmp(form_changes[i].name, name) == 0)
			return &form_changes[i];
	return NULL;
}

static void check_form(const struct python *python, const struct opcode *op)
{
	const struct form_change *change =
		form_change_of(op->name, python->minor);
	unsigned last = 0;
	const struct opcode *before = previous(python->minor, op->name, &last);
	bool known;

	if (!before)
		known = !change;
	else if (change)
		known = change->before == before->form &&
			change->after == op->form;
	else
		known = before->form == op->form;
	if (!known)
		fail_msg("%s: the form of %s", python->name, op->name);
}

static void forms_change_only_in_known_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(form_changes); i++)
		assert_non_null(opcode_named(
			python_at(form_changes[i].since - FIRST_MINOR),
			form_changes[i].name));
	each_opcode(check_form);
}

/* Units of inline cache from 3.`since` on; 0 where nothing is said. */
static const struct cache_change {
	const char *name;
	unsigned since;
	uint8_t units;
} cache_changes[] = {
	/* 3.11 brings the specialising interpreter. */
	{ "BINARY_OP", 11, 1 },
	{ "BINARY_SUBSCR", 11, 4 },
	{ "CALL", 11, 4 },
	{ "COMPARE_OP", 11, 2 },
	{ "LOAD_ATTR", 11, 4 },
	{ "LOAD_GLOBAL", 11, 5 },
	{ "LOAD_METHOD", 11, 10 },
	{ "PRECALL", 11, 1 },
	{ "STORE_ATTR", 11, 4 },
	{ "STORE_SUBSCR", 11, 1 },
	{ "UNPACK_SEQUENCE", 11, 1 },
	/* 3.12 has smaller ones, and LOAD_ATTR does LOAD_METHOD's work. */
	{ "BINARY_SUBSCR", 12, 1 },
	{ "CALL", 12, 3 },
	{ "COMPARE_OP", 12, 1 },
	{ "FOR_ITER", 12, 1 },
	{ "LOAD_ATTR", 12, 9 },
	{ "LOAD_GLOBAL", 12, 4 },
	{ "LOAD_SUPER_ATTR", 12, 1 },
	{ "SEND", 12, 1 },
	/* 3.13 specialises two more, and counts branches and loops. */
	{ "CONTAINS_OP", 13, 1 },
	{ "JUMP_BACKWARD", 13, 1 },
	{ "POP_JUMP_IF_FALSE", 13, 1 },
	{ "POP_JUMP_IF_NONE", 13, 1 },
	{ "POP_JUMP_IF_NOT_NONE", 13, 1 },
	{ "POP_JUMP_IF_TRUE", 13, 1 },
	{ "TO_BOOL", 13, 3 },
	/* 3.14: BINARY_OP subscribes as well; CALL_KW is specialised. */
	{ "BINARY_OP", 14, 5 },
	{ "CALL_KW", 14, 3 },
};

static void check_caches(const struct python *python, const struct opcode *op)
{
	uint8_t units = 0;

	for (size_t i = 0; i < COUNT_OF(cache_changes); i++)
		if (cache_changes[i].since <= python->minor &&
		    strcmp(cache_changes[i].name, op->name) == 0)
			units = cache_changes[i].units;
	if (op->caches != units)
		fail_msg("%s: %s has %u units of cache, not %u", python->name,
			 op->name, op->caches, units);
}

static void caches_change_only_in_known_ways(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(cache_changes); i++)
		assert_non_null(opcode_named(
			python_at(cache_changes[i].since - FIRST_MINOR),
			cache_changes[i].name));
	each_opcode(check_caches);
}

/* All that have a role; elsewhere, and later or earlier, they have none. */
static const struct {
	const char *name;
	enum op_role role;
	struct span span;
} roles[] = {
	{ "EXTENDED_ARG", ROLE_EXTENDED_ARG, { 8, ALWAYS } },
	{ "RESUME", ROLE_RESUME, { 11, ALWAYS } },
	{ "COPY_FREE_VARS", ROLE_PROLOGUE, { 11, ALWAYS } },
	{ "MAKE_CELL", ROLE_PROLOGUE, { 11, ALWAYS } },
	{ "RETURN_GENERATOR", ROLE_PROLOGUE, { 11, ALWAYS } },
	{ "POP_TOP", ROLE_PROLOGUE, { 8, ALWAYS } },
	/* Before 3.11 there is no RESUME to come before. */
	{ "NOP", ROLE_PROLOGUE, { 8, 9 } },
	{ "NOP", ROLE_UNCLEARED, { 10, 10 } },
	{ "NOP", ROLE_PROLOGUE, { 11, ALWAYS } },
	{ "ROT_TWO", ROLE_UNCLEARED, { 10, 10 } },
	{ "ROT_THREE", ROLE_UNCLEARED, { 10, 10 } },
	{ "ROT_FOUR", ROLE_UNCLEARED, { 10, 10 } },
	{ "PRECALL", ROLE_PRECALL, { 11, 11 } },
	{ "CALL", ROLE_CALL, { 11, ALWAYS } },
	{ "LOAD_CONST", ROLE_LOAD_CONST, { 8, ALWAYS } },
	{ "RETURN_VALUE", ROLE_RETURN_VALUE, { 8, ALWAYS } },
	{ "RERAISE", ROLE_RERAISE, { 9, ALWAYS } },
	{ "POP_JUMP_BACKWARD_IF_NOT_NONE", ROLE_BACKWARD_IF_NONE, { 11, 11 } },
	{ "POP_JUMP_BACKWARD_IF_NONE", ROLE_BACKWARD_IF_NONE, { 11, 11 } },
};

static void check_role(const struct python *python, const struct opcode *op)
{
	enum op_role role = ROLE_PLAIN;

	for (size_t i = 0; i < COUNT_OF(roles); i++)
		if (span_has(roles[i].span, python) &&
		    strcmp(roles[i].name, op->name) == 0)
			role = roles[i].role;
	if (op->role != role)
		fail_msg("%s: the role of %s", python->name, op->name);
}

/* That every name is where its span says. */
static void check_is_there(const char *name, struct span span)
{
	for (size_t i = 0; i < PYTHON_COUNT; i++)
		if (span_has(span, python_at(i)) &&
		    !opcode_named(python_at(i), name))
			fail_msg("%s has no %s", python_at(i)->name, name);
}

static void roles_are_on_just_the_names_they_belong_to(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(roles); i++)
		check_is_there(roles[i].name, roles[i].span);
	each_opcode(check_role);
}

static void resume_has_its_number_and_nobody_elses(void **state)
{
	static const unsigned expected[PYTHON_COUNT] = { 0,   0,   0,  151,
							 151, 149, 128 };

	(void)state;
	for (size_t i = 0; i < PYTHON_COUNT; i++) {
		const struct python *python = python_at(i);
		const struct opcode *op = opcode_named(python, "RESUME");

		assert_int_equal(op ? number_of(python, op) : 0, expected[i]);
	}
}

/* All whose argument has limits of its own, whatever else it has to fit. */
static const struct {
	const char *name;
	struct span span;
	uint32_t least;
	uint32_t most;
} limits[] = {
	{ "RAISE_VARARGS", { 8, ALWAYS }, 0, 2 },
	{ "RERAISE", { 10, ALWAYS }, 0, 2 },
	{ "FORMAT_VALUE", { 8, 12 }, 0, 7 },
	{ "CONVERT_VALUE", { 13, ALWAYS }, 1, 3 },
	{ "MAKE_FUNCTION", { 8, 12 }, 0, 15 },
	{ "RESUME", { 11, ALWAYS }, 0, 7 },
	{ "POP_FINALLY", { 8, 8 }, 0, 1 },
	{ "GEN_START", { 10, 10 }, 0, 2 },
	{ "IS_OP", { 9, ALWAYS }, 0, 1 },
	{ "CONTAINS_OP", { 9, ALWAYS }, 0, 1 },
	{ "COPY", { 11, ALWAYS }, 1, ANY },
	{ "SWAP", { 11, ALWAYS }, 1, ANY },
	{ "BUILD_SLICE", { 8, ALWAYS }, 2, 3 },
	{ "LIST_APPEND", { 8, ALWAYS }, 1, ANY },
	{ "SET_ADD", { 8, ALWAYS }, 1, ANY },
	{ "MAP_ADD", { 8, ALWAYS }, 1, ANY },
	{ "LIST_EXTEND", { 9, ALWAYS }, 1, ANY },
	{ "SET_UPDATE", { 9, ALWAYS }, 1, ANY },
	{ "DICT_UPDATE", { 9, ALWAYS }, 1, ANY },
	{ "DICT_MERGE", { 9, ALWAYS }, 1, ANY },
	{ "CALL_INTRINSIC_1", { 12, ALWAYS }, 1, ANY },
	{ "CALL_INTRINSIC_2", { 12, ALWAYS }, 1, ANY },
	{ "LOAD_SMALL_INT", { 14, ALWAYS }, 0, 255 },
};

static void check_limits(const struct python *python, const struct opcode *op)
{
	uint32_t least = 0, most = ANY;

	for (size_t i = 0; i < COUNT_OF(limits); i++) {
		if (!span_has(limits[i].span, python) ||
		    strcmp(limits[i].name, op->name) != 0)
			continue;
		least = limits[i].least;
		most = limits[i].most;
	}
	assert_true(op->least <= op->most);
	if (op->least != least || op->most != most)
		fail_msg("%s: the limits of %s", python->name, op->name);
}

static void arguments_have_the_limits_they_are_known_to_have(void **state)
{
	(void)state;
	for (size_t i = 0; i < COUNT_OF(limits); i++)
		check_is_there(limits[i].name, limits[i].span);
	each_opcode(check_limits);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pythons_are_in_order_and_found_by_name),
		cmocka_unit_test(no_name_is_there_twice),
		cmocka_unit_test(every_opcode_that_is_stored_has_a_row),
		cmocka_unit_test(the_number_says_whether_there_is_an_argument),
		cmocka_unit_test(numbers_change_only_in_known_ways),
		cmocka_unit_test(since_3_13_numbers_follow_the_alphabet),
		cmocka_unit_test(forms_change_only_in_known_ways),
		cmocka_unit_test(caches_change_only_in_known_ways),
		cmocka_unit_test(roles_are_on_just_the_names_they_belong_to),
		cmocka_unit_test(resume_has_its_number_and_nobody_elses),
		cmocka_unit_test(
			arguments_have_the_limits_they_are_known_to_have),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
