/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Which Python is named where several could have written the same bytes. Goes
 * through the shared corpus as well, where TACFS_SHARED says that there is one.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/python/detect.h"
#include "compiler/show.h"
#include "tests/unit/compiler_files.h"
#include "tests/unit/python_values.h"

enum {
	LIMIT = 1 << 20,
	FLAG_GENERATOR = 0x20,
	FLAG_NOFREE = 0x40,
	FLAG_DOCSTRING = 0x4000000 /* since 3.14 */
};

#define COUNT_OF(array) (sizeof(array) / sizeof((array)[0]))
#define CODE(letters)                                                          \
	.bytecode = (letters), .bytecode_size = sizeof(letters) - 1
#define LINES(letters)	.lines = (letters), .lines_size = sizeof(letters) - 1
#define CONSTS(letters) .consts = (letters), .consts_size = sizeof(letters) - 1

/* `expected` is NULL when no Python can have written it. */
static void expect_bytes(const struct writer *file, unsigned protocol,
			 const char *expected)
{
	struct arena arena = arena_upto(LIMIT);
	struct found found = { .python = NULL };
	struct fault fault = { 0 };
	int err = detect_python(file->bytes, file->size, protocol, &arena,
				&found, &fault);

	if (!expected) {
		assert_int_equal(err, -ENOTSUP);
		assert_non_null(fault.why);
	} else if (err) {
		fail_msg("%s, not %s", fault.why, expected);
	} else {
		assert_string_equal(found.python->name, expected);
	}
	arena_free(&arena);
}

static void expect_hinted(const struct sample_code *code,
			  enum code_layout layout, unsigned protocol,
			  const char *expected)
{
	struct writer file = writer_upto(LIMIT);

	sample_code_write(&file, code, layout);
	expect_bytes(&file, protocol, expected);
	writer_free(&file);
}

static void expect_old(const struct sample_code *code, const char *expected)
{
	expect_hinted(code, LAYOUT_OLD, 0, expected);
}

static void expect_new(const struct sample_code *code, const char *expected)
{
	expect_hinted(code, LAYOUT_NEW, 0, expected);
}

/* `inner` are the constants of `outer`, up to the first NULL. */
static void expect_nested(const struct sample_code *outer,
			  const struct sample_code *const *inner,
			  enum code_layout layout, const char *expected)
{
	struct writer consts = writer_upto(LIMIT);
	struct sample_code whole = *outer;
	uint8_t count = 0;

	while (inner[count])
		count++;
	writer_u8(&consts, ')');
	writer_u8(&consts, count);
	for (size_t i = 0; i < count; i++)
		sample_code_write(&consts, inner[i], layout);
	whole.consts = consts.bytes;
	whole.consts_size = consts.size;
	expect_hinted(&whole, layout, 0, expected);
	writer_free(&consts);
}

#define INNER(...) ((const struct sample_code *const[]){ __VA_ARGS__, NULL })

/* LOAD_CONST, RETURN_VALUE in 3.8 to 3.10; the lines of 3.10, and not so. */
static const struct sample_code any_old = { CODE("d\0S\0"), LINES("\4\0"),
					    .flags = FLAG_NOFREE };
static const struct sample_code not_3_10 = { CODE("d\0S\0"),
					     .flags = FLAG_NOFREE };
/* Only one of them has the opcode, or the argument. */
static const struct sample_code only_3_8 = { CODE("d\0d\0k\6S\0"),
					     LINES("\x8\0"),
					     .flags = FLAG_NOFREE };
static const struct sample_code only_3_9 = { CODE("d\0\x30\0"), LINES("\4\0"),
					     .flags = FLAG_NOFREE };
static const struct sample_code only_3_10 = { CODE("\x81\0d\0S\0"),
					      LINES("\6\0"),
					      .flags = FLAG_NOFREE };
/* 3.8 and 3.9 clear the argument of a NOP; 3.10 does not. */
static const struct sample_code uncleared = { CODE("\x9\1d\0S\0"),
					      LINES("\6\0"),
					      .flags = FLAG_NOFREE };

/* RESUME, LOAD_CONST, RETURN_VALUE in 3.11 and 3.12; with a NOP between. */
static const struct sample_code returns_const = { CODE("\x97\0d\0S\0"),
						  LINES("\xd2\0") };
static const struct sample_code returns_later = { CODE("\x97\0d\0\x9\0S\0"),
						  LINES("\xd3\0") };
/* PRECALL and CALL; RETURN_CONST; and what 3.13 and 3.14 write. */
static const struct sample_code only_3_11 = {
	CODE("\x97\0\xa6\0\0\0\xab\0\0\0\0\0\0\0\0\0\x9\0S\0"),
	LINES("\xd7\0\xd1\0")
};
static const struct sample_code only_3_12 = { CODE("\x97\0\x79\0"),
					      LINES("\xd1\0") };
static const struct sample_code only_3_13 = { CODE("\x95\0S\0$\0"),
					      LINES("\xd2\0") };
static const struct sample_code only_3_14 = { CODE("\x80\0R\0#\0"),
					      LINES("\xd2\0") };
/*
 * PUSH_EXC_INFO, the same, RETURN_GENERATOR or RETURN_VALUE in 3.11 to 3.14:
 * all miss a RESUME.
 */
static const struct sample_code any_new = { CODE("#\0"), LINES("\xd0\0") };

static void of_the_old_the_newest_that_fits_is_named(void **state)
{
	(void)state;
	expect_old(&any_old, "3.10");
	expect_old(&not_3_10, "3.9");
	expect_old(&only_3_8, "3.8");
	expect_old(&only_3_9, "3.9");
	expect_old(&only_3_10, "3.10");
}

static void a_returned_constant_tells_3_11_from_3_12(void **state)
{
	static const struct sample_code far = { CODE("\x97\0\x90\0d\0S\0"),
						LINES("\xd3\0") };
	static const struct sample_code first = { CODE("\x97\0d\0S\0\x9\0S\0"),
						  LINES("\xd4\0") };
	static const struct sample_code apart = { CODE("\x97\0d\0\x90\0S\0"),
						  LINES("\xd3\0") };

	(void)state;
	expect_new(&returns_const, "3.11");
	expect_new(&far, "3.11");
	expect_new(&first, "3.11");
	expect_new(&returns_later, "3.12");
	expect_new(&apart, "3.12");
	expect_nested(&returns_later, INNER(&returns_const), LAYOUT_NEW,
		      "3.11");
	expect_nested(&returns_later, INNER(&returns_later), LAYOUT_NEW,
		      "3.12");
	/* It breaks ties only. */
	expect_nested(&returns_const, INNER(&only_3_12), LAYOUT_NEW, "3.12");
}

static void the_protocol_of_3_14_breaks_ties_with_it(void **state)
{
	(void)state;
	expect_hinted(&any_new, LAYOUT_NEW, 5, "3.14");
	expect_hinted(&any_new, LAYOUT_NEW, 4, "3.12");
	expect_hinted(&any_new, LAYOUT_NEW, 0, "3.12");
}

static void the_protocol_is_no_more_than_a_hint(void **state)
{
	(void)state;
	expect_hinted(&any_old, LAYOUT_OLD, 5, "3.10");
	expect_hinted(&not_3_10, LAYOUT_OLD, 5, "3.9");
	expect_hinted(&returns_const, LAYOUT_NEW, 5, "3.11");
	expect_hinted(&only_3_13, LAYOUT_NEW, 5, "3.13");
	expect_hinted(&only_3_14, LAYOUT_NEW, 4, "3.14");
}

static void only_3_14_has_slices_for_constants(void **state)
{
	static const struct sample_code any = { CODE("#\0"), LINES("\xd0\0"),
						CONSTS(")\1:NNN") };
	static const struct sample_code earlier = { CODE("\x95\0S\0$\0"),
						    LINES("\xd2\0"),
						    CONSTS(")\1:NNN") };
	static const struct sample_code old = { CODE("d\0S\0"), LINES("\4\0"),
						CONSTS(")\1:NNN"),
						.flags = FLAG_NOFREE };

	(void)state;
	expect_new(&any, "3.14");
	expect_nested(&any_new, INNER(&any), LAYOUT_NEW, "3.14");
	expect_new(&earlier, NULL);
	expect_nested(&only_3_13, INNER(&any), LAYOUT_NEW, NULL);
	expect_old(&old, NULL);
}

static void a_nested_code_object_decides_too(void **state)
{
	static const struct {
		const struct sample_code *outer;
		const struct sample_code *inner;
		enum code_layout layout;
		const char *expected;
	} cases[] = {
		{ &any_old, &any_old, LAYOUT_OLD, "3.10" },
		{ &any_old, &only_3_8, LAYOUT_OLD, "3.8" },
		{ &any_old, &only_3_9, LAYOUT_OLD, "3.9" },
		{ &any_old, &only_3_10, LAYOUT_OLD, "3.10" },
		{ &any_old, &not_3_10, LAYOUT_OLD, "3.9" },
		{ &only_3_8, &any_old, LAYOUT_OLD, "3.8" },
		{ &returns_const, &only_3_11, LAYOUT_NEW, "3.11" },
		{ &returns_later, &only_3_11, LAYOUT_NEW, "3.11" },
		{ &returns_const, &only_3_12, LAYOUT_NEW, "3.12" },
		{ &any_new, &only_3_13, LAYOUT_NEW, "3.13" },
		{ &any_new, &only_3_14, LAYOUT_NEW, "3.14" },
	};

	(void)state;
	for (size_t i = 0; i < COUNT_OF(cases); i++)
		expect_nested(cases[i].outer, INNER(cases[i].inner),
			      cases[i].layout, cases[i].expected);
}

static void one_deep_down_or_late_decides_as_well(void **state)
{
	struct writer consts = writer_upto(LIMIT);
	struct sample_code middle = any_old;

	(void)state;
	expect_nested(&any_old, INNER(&any_old, &not_3_10, &only_3_8),
		      LAYOUT_OLD, "3.8");
	writer_put(&consts, ")\1", 2);
	sample_code_write(&consts, &only_3_8, LAYOUT_OLD);
	middle.consts = consts.bytes;
	middle.consts_size = consts.size;
	expect_nested(&any_old, INNER(&any_old, &middle), LAYOUT_OLD, "3.8");
	writer_free(&consts);
}

static void what_none_can_have_written_is_refused(void **state)
{
	static const struct sample_code empty = { LINES("") };
	static const struct sample_code no_opcode = { CODE("\xff\0") };
	static const struct sample_code no_const = { CODE("d\1S\0") };

	(void)state;
	expect_old(&empty, NULL);
	expect_new(&empty, NULL);
	expect_old(&no_opcode, NULL);
	expect_new(&no_opcode, NULL);
	expect_old(&no_const, NULL);
	expect_nested(&any_old, INNER(&no_opcode), LAYOUT_OLD, NULL);
	/* Each has an author, but not the same. */
	expect_nested(&any_old, INNER(&only_3_8, &only_3_10), LAYOUT_OLD, NULL);
	expect_nested(&only_3_11, INNER(&only_3_12), LAYOUT_NEW, NULL);
}

static void what_is_no_code_object_is_damaged(void **state)
{
	struct writer file = writer_upto(LIMIT);
	struct arena arena = arena_upto(LIMIT);
	struct found found;
	struct fault fault = { 0 };

	(void)state;
	sample_code_write(&file, &any_old, LAYOUT_OLD);
	assert_int_equal(detect_python(file.bytes, file.size - 1, 0, &arena,
				       &found, &fault),
			 -EBADMSG);
	assert_non_null(fault.why);
	writer_u8(&file, 'N');
	assert_int_equal(
		detect_python(file.bytes, file.size, 0, &arena, &found, &fault),
		-EBADMSG);
	assert_non_null(fault.why);
	arena_free(&arena);
	writer_free(&file);
}

static void the_pythons_that_break_no_rule_are_preferred(void **state)
{
	static const struct sample_code nop = { CODE("\x9\0d\0S\0"),
						.flags = FLAG_NOFREE };
	static const struct sample_code stepless = { CODE("d\0S\0"),
						     LINES("\0\1\4\0"),
						     .flags = FLAG_NOFREE };
	static const struct sample_code step = { CODE("d\0S\0"),
						 LINES("\0\x7f\4\1"),
						 .flags = FLAG_NOFREE };
	static const struct sample_code steps = { CODE("d\0S\0"),
						  LINES("\0\x81\0\xff\4\0"),
						  .flags = FLAG_NOFREE };
	/* DUP_TOP with an argument: a rule of both, and the lines are wrong. */
	static const struct sample_code duplicated = { CODE("\x4\1d\0S\0"),
						       .flags = FLAG_NOFREE };
	/* A jump back by three units, or INTRINSIC_STOPITERATION_ERROR. */
	static const struct sample_code thrown = {
		CODE("\x97\0d\0d\0\xad\3w\0d\0S\0"), LINES("\xd6\0")
	};
	static const struct sample_code nearer = {
		CODE("\x97\0d\0d\0\xad\2w\0d\0S\0"), LINES("\xd6\0"),
		.flags = FLAG_GENERATOR
	};
	struct sample_code generator = thrown, documented = any_new;

	(void)state;
	generator.flags = FLAG_GENERATOR;
	documented.flags = FLAG_DOCSTRING;
	expect_old(&nop, "3.9");      /* 3.10 has lines for all of the code */
	expect_old(&stepless, "3.9"); /* ... and no such empty range, */
	expect_old(&step, "3.10");    /* unless it takes a step */
	expect_old(&steps, "3.10");   /* or follows one that does. */
	expect_old(&duplicated, "3.9");
	expect_new(&thrown, "3.11"); /* for a tie, but ... */
	expect_new(&generator, "3.12");
	expect_new(&nearer, "3.11");
	expect_new(&documented, "3.14");
}

/* Its numbers are other opcodes in other Pythons. */
static void where_resume_stands_tells_the_new_apart(void **state)
{
	/* COPY_FREE_VARS and PUSH_EXC_INFO in 3.11 and 3.12. */
	static const struct sample_code first = { CODE("\x95\0#\0"),
						  LINES("\xd1\0") };
	/* After a RETURN_GENERATOR, which may be before it ... */
	static const struct sample_code second = { CODE("#\0\x95\0"),
						   LINES("\xd1\0") };
	/* ... and after PUSH_EXC_INFO; MATCH_KEYS in 3.11 and 3.12. */
	static const struct sample_code late = { CODE("!\0\x95\0"),
						 LINES("\xd1\0") };
	/* A jump if not None, and PUSH_EXC_INFO, in 3.11 and 3.12. */
	static const struct sample_code newest = { CODE("\x80\0#\0"),
						   LINES("\xd1\0") };

	(void)state;
	expect_new(&first, "3.13");
	expect_new(&second, "3.13");
	expect_new(&late, "3.12");
	expect_new(&newest, "3.14");
}

static void a_rule_that_all_break_decides_nothing(void **state)
{
	/* There are no free variables. */
	static const struct sample_code old = { CODE("d\0S\0"), LINES("\4\0") };
	static const struct sample_code older = { CODE("d\0S\0") };
	/* The lines do not cover the code. */
	static const struct sample_code returned = { CODE("\x97\0d\0S\0"),
						     LINES("\xd1\0") };

	(void)state;
	expect_old(&old, "3.10");
	expect_old(&older, "3.9");
	expect_new(&returned, "3.11");
}

static void broken_rules_are_counted_once_for_each_code_object(void **state)
{
	/* Many NOPs break one rule of 3.9, the lines one of 3.10. */
	static const struct sample_code both = { CODE("\x9\1\x9\1d\0S\0"),
						 .flags = FLAG_NOFREE };

	(void)state;
	expect_old(&both, "3.10");
	expect_nested(&not_3_10, INNER(&uncleared), LAYOUT_OLD, "3.10");
	expect_nested(&not_3_10, INNER(&uncleared, &uncleared), LAYOUT_OLD,
		      "3.10");
	expect_nested(&not_3_10, INNER(&not_3_10, &uncleared), LAYOUT_OLD,
		      "3.9");
	expect_nested(&uncleared, INNER(&not_3_10, &not_3_10), LAYOUT_OLD,
		      "3.9");
}

/* Gives the one local the kind, and the code object that many arguments. */
static void expect_kind(const struct sample_code *code, uint8_t kind,
			uint8_t arguments, const char *expected)
{
	static const char before[] = "s\1\0\0\0\x20";
	struct sample_code with_local = *code;
	struct writer file = writer_upto(LIMIT);
	uint8_t *at;

	with_local.locals[0] = "x";
	sample_code_write(&file, &with_local, LAYOUT_NEW);
	at = memmem(file.bytes, file.size, before, sizeof(before) - 1);
	assert_non_null(at);
	at[sizeof(before) - 2] = kind;
	file.bytes[1] = arguments;
	expect_bytes(&file, 0, expected);
	writer_free(&file);
}

static void kinds_of_locals_tell_the_new_apart(void **state)
{
	(void)state;
	expect_kind(&returns_const, 0x20, 0, "3.11");
	expect_kind(&returns_const, 0x30, 0, "3.12"); /* hidden */
	expect_kind(&any_new, 0x20, 1, "3.12");
	expect_kind(&any_new, 0x26, 1, "3.14"); /* an argument */
	expect_kind(&any_new, 0x26, 0, "3.12"); /* but there is none */
}

static void a_known_python_is_taken_if_it_can_have_written_it(void **state)
{
	struct writer file = writer_upto(LIMIT);
	struct arena arena = arena_upto(LIMIT);
	struct found found;
	struct fault fault;

	(void)state;
	sample_code_write(&file, &any_old, LAYOUT_OLD);
	assert_int_equal(detect_given(file.bytes, file.size,
				      python_named("3.8"), &arena, &found,
				      &fault),
			 0);
	assert_string_equal(found.python->name, "3.8");
	assert_int_equal(detect_given(file.bytes, file.size,
				      python_named("3.11"), &arena, &found,
				      &fault),
			 -EBADMSG);
	assert_non_null(fault.why);
	arena_free(&arena);
	writer_free(&file);
}

/* Whether a field of the table's line that starts so names the Python. */
static bool line_names(const char *table, const char *key, size_t field,
		       const char *python)
{
	char *text = file_text(table);
	char *rest = text, *names = NULL, *name;
	bool found = false;

	while (rest && !names) {
		char *line = strsep(&rest, "\n");

		if (strcmp(strsep(&line, "\t"), key) != 0)
			continue;
		for (size_t i = 0; i < field; i++)
			names = strsep(&line, "\t");
	}
	while ((name = strsep(&names, ",")))
		found = found || strcmp(name, python) == 0;
	free(text);
	return found;
}

static const char *python_found(const char *path)
{
	struct file_bytes file = file_read(path);
	const struct python *python = NULL;
	struct fault fault;

	if (show_detect(file.bytes, file.size, &python, &fault))
		fail_msg("%s: %s", path, fault.why);
	file_free(&file);
	return python->name;
}

/* .../3.8/NAME was written by 3.8, or else stands in the table of twins. */
static void check_golden(const char *path, void *context)
{
	const char *python = python_found(path);
	const char *key = path + strlen(GOLDEN "/dis/");
	size_t size = strlen(python);

	(void)context;
	if (strncmp(key, python, size) == 0 && key[size] == '/')
		return;
	if (!line_names(GOLDEN "/dis/twins.tsv", key, 1, python))
		fail_msg("%s: %s cannot have written it", path, python);
}

/* index.tsv: id, name, kind, two sizes, who could have written it, ... */
static void check_corpus(const char *path, void *context)
{
	const char *python = python_found(path);
	char *index = path_with_ending(path, file_name(path), "index.tsv");
	char *key = path_with_ending(file_name(path), ".marshal", "");

	(void)context;
	if (!line_names(index, key, 5, python))
		fail_msg("%s: %s cannot have written it", path, python);
	free(index);
	free(key);
}

static void real_code_is_of_one_that_could_have_written_it(void **state)
{
	(void)state;
	assert_true(files_visit(GOLDEN "/dis", ".marshal", check_golden, NULL) >
		    400);
}

static void so_is_the_whole_corpus(void **state)
{
	char room[4096];
	const char *corpus = shared_path("cpython/corpus", room, sizeof(room));

	(void)state;
	if (!corpus)
		skip();
	assert_true(files_visit(corpus, ".marshal", check_corpus, NULL) >=
		    1050);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(of_the_old_the_newest_that_fits_is_named),
		cmocka_unit_test(a_returned_constant_tells_3_11_from_3_12),
		cmocka_unit_test(the_protocol_of_3_14_breaks_ties_with_it),
		cmocka_unit_test(the_protocol_is_no_more_than_a_hint),
		cmocka_unit_test(only_3_14_has_slices_for_constants),
		cmocka_unit_test(a_nested_code_object_decides_too),
		cmocka_unit_test(one_deep_down_or_late_decides_as_well),
		cmocka_unit_test(what_none_can_have_written_is_refused),
		cmocka_unit_test(what_is_no_code_object_is_damaged),
		cmocka_unit_test(the_pythons_that_break_no_rule_are_preferred),
		cmocka_unit_test(where_resume_stands_tells_the_new_apart),
		cmocka_unit_test(a_rule_that_all_break_decides_nothing),
		cmocka_unit_test(
			broken_rules_are_counted_once_for_each_code_object),
		cmocka_unit_test(kinds_of_locals_tell_the_new_apart),
		cmocka_unit_test(
			a_known_python_is_taken_if_it_can_have_written_it),
		cmocka_unit_test(
			real_code_is_of_one_that_could_have_written_it),
		cmocka_unit_test(so_is_the_whole_corpus),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
