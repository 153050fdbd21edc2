/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/pickle.h"
#include "compiler/pickle_scan.h"
#include "compiler/pickle_stream.h"
#include "tests/unit/pickles.h"

enum { LIMIT = 1 << 20 };

struct bytes {
	const char *letters;
	size_t size;
};

#define BYTES(letters)                                                         \
	{                                                                      \
		(letters), sizeof(letters) - 1                                 \
	}

static int read(const struct writer *file, struct arena *arena,
		struct pickle *pickle)
{
	struct fault fault = { 0 };
	int err = pickle_read(file->bytes, file->size, arena, pickle, &fault);

	if (err)
		assert_non_null(fault.why);
	return err;
}

static void an_artifact_is_read_as_it_was_written(void **state)
{
	struct writer file = sample_pickle(&(struct sample_pickle){ 0 });
	struct arena arena = arena_upto(LIMIT);
	const struct pickled *const *members;
	struct pickle pickle;

	(void)state;
	assert_int_equal(read(&file, &arena, &pickle), 0);
	assert_int_equal(pickle.protocol, 4);
	assert_string_equal(pickle.module, SAMPLE_MODULE);
	members = pickle.artifact->object.members;
	assert_true(text_equals(members[0]->object.members[0]->text, "f(x)"));
	assert_true(text_equals(members[0]->object.members[2]->text, "1.0.5"));
	assert_true(text_equals(members[1]->text, "code"));
	members = members[2]->object.members;
	assert_true(text_equals(members[1]->text, "pass\n"));
	assert_int_equal(members[2]->list.count, 2);
	assert_true(text_equals(members[2]->list.items[1]->pair.name, "y"));
	assert_true(members[2]->list.items[0]->pair.flag);
	assert_false(members[2]->list.items[1]->pair.flag);
	arena_free(&arena);
	writer_free(&file);
}

static void no_beginning_of_an_artifact_is_one_or_is_whole(void **state)
{
	struct writer file = sample_pickle(&(struct sample_pickle){ 0 });
	struct arena arena = arena_upto(LIMIT);
	struct pickle pickle;
	const char *why;
	size_t where;

	(void)state;
	for (size_t size = 0; size < file.size; size++) {
		struct writer cut = file;

		cut.size = size;
		assert_int_equal(read(&cut, &arena, &pickle), -EBADMSG);
		assert_int_equal(pickle_scan(cut.bytes, size, &why, &where),
				 PICKLE_BROKEN);
		assert_true(where <= size);
	}
	assert_int_equal(pickle_scan(file.bytes, file.size, &why, &where),
			 PICKLE_WHOLE);
	writer_u8(&file, '.');
	assert_int_equal(read(&file, &arena, &pickle), -EBADMSG);
	assert_int_equal(pickle_scan(file.bytes, file.size, &why, &where),
			 PICKLE_BROKEN);
	arena_free(&arena);
	writer_free(&file);
}

static void classes_of_all_three_modules_are_known(void **state)
{
	static const char *const modules[] = {
		"torchair.inference._cache_compiler",
		"npugraph_ex.inference._cache_compiler",
		"torchair.inference.cache_compiler",
	};
	struct arena arena = arena_upto(LIMIT);
	struct pickle pickle;

	(void)state;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		struct writer file = sample_pickle(
			&(struct sample_pickle){ .module = modules[i] });

		assert_int_equal(read(&file, &arena, &pickle), 0);
		assert_string_equal(pickle.module, modules[i]);
		writer_free(&file);
	}
	arena_free(&arena);
}

static void any_other_class_is_refused_but_is_whole(void **state)
{
	static const char *const modules[] = {
		"os", "torchair.inference", "torchair.inference._cache_compile",
		"torchair.inference._cache_compiler ", ""
	};
	struct arena arena = arena_upto(LIMIT);
	struct pickle pickle;
	const char *why;
	size_t where;

	(void)state;
	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++) {
		struct writer file = sample_pickle(
			&(struct sample_pickle){ .module = modules[i] });

		assert_int_equal(read(&file, &arena, &pickle), -EBADMSG);
		assert_int_equal(
			pickle_scan(file.bytes, file.size, &why, &where),
			PICKLE_WHOLE);
		writer_free(&file);
	}
	arena_free(&arena);
}

static void memory_is_bounded(void **state)
{
	struct writer file = sample_pickle(&(struct sample_pickle){ 0 });
	struct arena arena = arena_upto(1 << 9);
	struct pickle pickle;

	(void)state;
	assert_int_equal(read(&file, &arena, &pickle), -E2BIG);
	arena_free(&arena);
	writer_free(&file);
}

static void a_whole_pickle_of_any_protocol_is_whole(void **state)
{
	static const struct bytes cases[] = {
		BYTES("I1\n."),			    /* 0 */
		BYTES("(lp0\nI1\na."),		    /* 0: a list */
		BYTES("cos\nsystem\n(S'x'\ntR."),   /* 0: a call */
		BYTES("(ios\nsystem\n."),	    /* 0: INST */
		BYTES("(cos\nsystem\no."),	    /* 1: OBJ */
		BYTES("]q\0(K\1K\2e."),		    /* 1 */
		BYTES("\x80\2}q\0X\1\0\0\0aK\1s."), /* 2 */
		BYTES("\x80\2\x8a\2\0\1."),	    /* 2: LONG1 */
		BYTES("\x80\3C\2ab."),		    /* 3 */
		BYTES("\x80\4\x8f(\x88\x89\x90."),  /* 4: a set */
		BYTES("\x80\4N0N1"
		      "."),			       /* below: no mark */
		BYTES("\x80\5\x96\1\0\0\0\0\0\0\0x."), /* 5: bytearray */
		BYTES("\x80\5\x97\x98."),	       /* 5: a buffer */
		BYTES("(N0N0"
		      "0N."), /* POP takes the mark */
	};
	const char *why;
	size_t where;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		enum pickle_state want = i == 10 ? PICKLE_BROKEN : PICKLE_WHOLE;

		if (pickle_scan(cases[i].letters, cases[i].size, &why,
				&where) != want)
			fail_msg("case %zu", i);
	}
}

static void a_broken_pickle_says_where(void **state)
{
	static const struct {
		struct bytes bytes;
		size_t where;
	} cases[] = {
		{ BYTES(""), 0 },
		{ BYTES("\x80\4"), 2 },
		{ BYTES("\x80\4N"), 3 },
		{ BYTES("\x80\4."), 2 },	   /* nothing to return */
		{ BYTES("\x80\4N.N"), 4 },	   /* after the end */
		{ BYTES("\x80\4\xff."), 2 },	   /* no opcode */
		{ BYTES("\x80\4\x8c\5ab."), 4 },   /* cut off */
		{ BYTES("\x80\4\x8c\1\xff."), 5 }, /* UTF-8 */
		{ BYTES("\x80\4N\x86."), 3 },	   /* a pair of one */
		{ BYTES("\x80\4(N\x86."), 4 },	   /* across a mark */
		{ BYTES("\x80\4Nt."), 3 },	   /* no mark */
		{ BYTES("\x80\4(."), 3 },	   /* a mark at the end */
		{ BYTES("Inothing"), 1 },	   /* no newline */
		{ BYTES("\x80\4\x95\4\0\0\0\0\0\0\0N."), 11 }, /* frame */
		{ BYTES("\x80\4\x95\x0a\0\0\0\0\0\0\0"
			"\x95\1\0\0\0\0\0\0\0N."),
		  20 },
		{ BYTES("\x80\4\x95\1\0\0\0\0\0\0\0K\1."), 13 },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		const char *why = NULL;
		size_t where = 0;

		assert_int_equal(pickle_scan(cases[i].bytes.letters,
					     cases[i].bytes.size, &why, &where),
				 PICKLE_BROKEN);
		assert_non_null(why);
		if (where != cases[i].where)
			fail_msg("case %zu: %s at %zu", i, why, where);
	}
}

static void a_later_protocol_is_newer_when_it_has_an_end(void **state)
{
	static const struct bytes whole = BYTES("\x80\6\xfe\xfd.");
	static const struct bytes cut = BYTES("\x80\6\xfe\xfd");
	const char *why;
	size_t where;

	(void)state;
	assert_int_equal(pickle_scan(whole.letters, whole.size, &why, &where),
			 PICKLE_NEWER);
	assert_int_equal(pickle_scan(cut.letters, cut.size, &why, &where),
			 PICKLE_BROKEN);
}

/* Deep stacks, many marks, shared values: no recursion, no expansion. */
static void floods_are_refused_in_no_time(void **state)
{
	static const struct {
		const char *each;
		size_t count;
	} cases[] = {
		{ "(", 1 << 18 },	 { "]", 1 << 18 },
		{ "N2", 1 << 18 },	 { "]a", 1 << 18 },
		{ "N\x85", 1 << 18 },	 { "0", 1 << 18 },
		{ ")\x94h\0", 1 << 16 },
	};
	struct pickle pickle;
	const char *why;
	size_t where;

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer file = writer_upto(LIMIT);
		struct arena arena = arena_upto(LIMIT);

		writer_put(&file, "\x80\4", 2);
		for (size_t k = 0; k < cases[i].count; k++)
			writer_string(&file, cases[i].each);
		writer_u8(&file, '.');
		assert_true(read(&file, &arena, &pickle) < 0);
		pickle_scan(file.bytes, file.size, &why, &where);
		arena_free(&arena);
		writer_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_artifact_is_read_as_it_was_written),
		cmocka_unit_test(
			no_beginning_of_an_artifact_is_one_or_is_whole),
		cmocka_unit_test(classes_of_all_three_modules_are_known),
		cmocka_unit_test(any_other_class_is_refused_but_is_whole),
		cmocka_unit_test(memory_is_bounded),
		cmocka_unit_test(a_whole_pickle_of_any_protocol_is_whole),
		cmocka_unit_test(a_broken_pickle_says_where),
		cmocka_unit_test(a_later_protocol_is_newer_when_it_has_an_end),
		cmocka_unit_test(floods_are_refused_in_no_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
