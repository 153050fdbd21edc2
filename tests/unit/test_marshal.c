/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/marshal.h"
#include "compiler/python/repr.h"
#include "tests/unit/python_values.h"

enum { ARENA_LIMIT = 1 << 22, FILE_LIMIT = 1 << 20 };

#define BYTES(letters) (letters), sizeof(letters) - 1

struct fixture {
	struct arena arena;
	struct writer file;
	struct marshal marshal;
	struct reader in;
};

static int set_up(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	f->arena = arena_upto(ARENA_LIMIT);
	f->file = writer_upto(FILE_LIMIT);
	*state = f;
	return 0;
}

static int tear_down(void **state)
{
	struct fixture *f = *state;

	arena_free(&f->arena);
	writer_free(&f->file);
	free(f);
	return 0;
}

/* Reads a code object with those constants. */
static int read_consts(struct fixture *f, const void *consts, size_t size)
{
	struct sample_code code = { .consts = consts, .consts_size = size };

	writer_free(&f->file);
	sample_code_write(&f->file, &code, LAYOUT_NEW);
	f->in = reader_over(f->file.bytes, f->file.size);
	return marshal_read(&f->in, LAYOUT_NEW, &f->arena, &f->marshal);
}

static void expect_repr(struct fixture *f, const void *consts, size_t size,
			const char *expected)
{
	struct writer text = writer_upto(FILE_LIMIT);

	if (read_consts(f, consts, size))
		fail_msg("%s: %s", expected, f->in.why);
	repr_value(&text, f->marshal.code->consts.at[0], UNICODE_16_0);
	writer_u8(&text, 0);
	assert_string_equal((const char *)text.bytes, expected);
	writer_free(&text);
}

static void values_are_what_python_reads(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
		const char *repr;
	} cases[] = {
		{ BYTES(")\1N"), "None" },
		{ BYTES(")\1T"), "True" },
		{ BYTES(")\1F"), "False" },
		{ BYTES(")\1."), "Ellipsis" },
		{ BYTES(")\1S"), "<class 'StopIteration'>" },
		{ BYTES(")\1i\xfe\xff\xff\xff"), "-2" },
		{ BYTES(")\1l\xfe\xff\xff\xff\0\0\2\0"), "-65536" },
		{ BYTES(")\1l\0\0\0\0"), "0" },
		{ BYTES(")\1g\0\0\0\0\0\0\xf8\x3f"), "1.5" },
		{ BYTES(")\1y\0\0\0\0\0\0\0\0\0\0\0\0\0\0\xf0\x3f"), "1j" },
		{ BYTES(")\1s\2\0\0\0a\xff"), "b'a\\xff'" },
		{ BYTES(")\1z\2ab"), "'ab'" },
		{ BYTES(")\1Z\1\xe9"), "'\xc3\xa9'" }, /* Latin-1 */
		{ BYTES(")\1a\1\0\0\0a"), "'a'" },
		{ BYTES(")\1A\0\0\0\0"), "''" },
		{ BYTES(")\1u\3\0\0\0\xed\xa0\x80"), "'\\ud800'" },
		{ BYTES(")\1t\2\0\0\0\xc3\xa9"), "'\xc3\xa9'" },
		{ BYTES("(\1\0\0\0)\0"), "()" },
		{ BYTES(")\1)\1N"), "(None,)" },
		{ BYTES(")\1[\2\0\0\0TF"), "[True, False]" },
		{ BYTES(")\1[\0\0\0\0"), "[]" },
		{ BYTES(")\1{NTTF0"), "{None: True, True: False}" },
		{ BYTES(")\1{0"), "{}" },
		{ BYTES(")\1<\0\0\0\0"), "set()" },
		{ BYTES(")\1>\0\0\0\0"), "frozenset()" },
		{ BYTES(")\1>\1\0\0\0N"), "frozenset({None})" },
		{ BYTES(")\1:NTF"), "slice(None, True, False)" },
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		expect_repr(*state, cases[i].bytes, cases[i].size,
			    cases[i].repr);
}

static void
a_reference_is_to_the_values_in_the_order_of_their_start(void **state)
{
	/* The tuple is 0, then its parts; constants take no number. */
	expect_repr(*state,
		    BYTES(")\1\xa9\5\xce\xfa\1ar\1\0\0\0\xfa\1br\2\0\0\0"),
		    "(None, 'a', 'a', 'b', 'b')");
}

static void a_reference_to_what_is_not_yet_read_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ BYTES(")\1r\0\0\0\0") },	      /* there is nothing */
		{ BYTES("\xa9\1r\0\0\0\0") },	      /* itself */
		{ BYTES(")\1r\xff\xff\xff\xff") },    /* negative */
		{ BYTES(")\2\xfa\1ar\1\0\0\0") },     /* the one after */
		{ BYTES(")\1\xdb\1\0\0\0r\0\0\0\0") } /* itself */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		assert_int_equal(
			read_consts(*state, cases[i].bytes, cases[i].size),
			-EBADMSG);
}

static void what_dumps_does_not_write_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} cases[] = {
		{ BYTES(")\1"
			"0") },			   /* NULL */
		{ BYTES(")\1?") },		   /* no type */
		{ BYTES(")\1I\0\0\0\0\0\0\0\0") }, /* of old */
		{ BYTES(")\1f\3"
			"1.5") },		   /* of old */
		{ BYTES(")\1l\1\0\0\0\0\0") },	   /* leading zero */
		{ BYTES(")\1l\1\0\0\0\0\x80") },   /* digit */
		{ BYTES(")\1l\0\0\0\x80") },	   /* digits */
		{ BYTES(")\1u\1\0\0\0\xff") },	   /* UTF-8 */
		{ BYTES("(\xff\xff\xff\x7f") },	   /* count */
		{ BYTES(")\1s\xff\xff\xff\xff") }, /* size */
		{ BYTES("N") },			   /* no tuple */
		{ BYTES(")\1{N") },		   /* no value */
	};

	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++)
		if (!read_consts(*state, cases[i].bytes, cases[i].size))
			fail_msg("case %zu was accepted", i);
}

static void nesting_has_a_limit(void **state)
{
	struct fixture *f = *state;
	struct writer deep = writer_upto(FILE_LIMIT);

	/* The code object and its constants are two more. */
	for (int i = 0; i < MARSHAL_DEPTH_MAX - 2; i++)
		writer_put(&deep, ")\1", 2);
	writer_u8(&deep, 'N');
	assert_int_equal(read_consts(f, deep.bytes, deep.size), 0);
	writer_free(&deep);
	for (int i = 0; i < MARSHAL_DEPTH_MAX; i++)
		writer_put(&deep, ")\1", 2);
	writer_u8(&deep, 'N');
	assert_int_equal(read_consts(f, deep.bytes, deep.size), -E2BIG);
	writer_free(&deep);
}

static void memory_has_a_limit(void **state)
{
	struct fixture *f = *state;

	f->arena.limit = 256;
	assert_int_equal(read_consts(f, BYTES(")\1i\1\0\0\0")), -E2BIG);
}

/* At every limit the values are read, or it is the limit that is in the way. */
static void any_limit_is_enough_or_said_to_be_too_low(void **state)
{
	struct fixture *f = *state;
	bool enough = false;

	for (size_t limit = 0; limit < 4096; limit += 16) {
		int err;

		arena_free(&f->arena);
		f->arena = arena_upto(limit);
		err = read_consts(
			f, BYTES(")\4{i\1\0\0\0z\1aNT0>\1\0\0\0g\0\0\0\0\0\0\0"
				 "\0l\1\0\0\0\1\0\xa9\1y\0\0\0\0\0\0\0\0\0\0\0"
				 "\0\0\0\0\0"));
		assert_true(err == 0 || (err == -E2BIG && !enough));
		enough = err == 0;
	}
	assert_true(enough);
}

static void both_layouts_are_read_and_not_confused(void **state)
{
	struct fixture *f = *state;
	struct sample_code code = { .bytecode = "d\0S\0",
				    .bytecode_size = 4,
				    .names = { "x" },
				    .locals = { "a", "b" },
				    .first_line = 7,
				    .flags = 0x43 };

	for (int i = 0; i < 2; i++) {
		enum code_layout layout = i ? LAYOUT_NEW : LAYOUT_OLD;

		writer_free(&f->file);
		sample_code_write(&f->file, &code, layout);
		f->in = reader_over(f->file.bytes, f->file.size);
		assert_int_equal(
			marshal_read(&f->in, layout, &f->arena, &f->marshal),
			0);
		assert_int_equal(f->marshal.code->first_line, 7);
		assert_int_equal(f->marshal.code->flags, 0x43);
		assert_int_equal(f->marshal.code->bytecode.size, 4);
		assert_int_equal(f->marshal.code->locals.count, 2);
		assert_true(text_equals(f->marshal.code->name, "f"));
		f->in = reader_over(f->file.bytes, f->file.size);
		assert_int_equal(marshal_read(&f->in,
					      i ? LAYOUT_OLD : LAYOUT_NEW,
					      &f->arena, &f->marshal),
				 -EBADMSG);
	}
}

static void no_prefix_and_nothing_longer_is_read(void **state)
{
	struct fixture *f = *state;
	size_t size;

	assert_int_equal(read_consts(f, BYTES(")\2z\1a)\1T")), 0);
	size = f->file.size;
	for (size_t cut = 0; cut < size; cut++) {
		f->in = reader_over(f->file.bytes, cut);
		assert_int_equal(marshal_read(&f->in, LAYOUT_NEW, &f->arena,
					      &f->marshal),
				 -EBADMSG);
	}
	writer_u8(&f->file, 'N');
	f->in = reader_over(f->file.bytes, size + 1);
	assert_int_equal(
		marshal_read(&f->in, LAYOUT_NEW, &f->arena, &f->marshal),
		-EBADMSG);
	assert_int_equal(f->in.where, size);
}

static void all_code_objects_and_sets_are_listed(void **state)
{
	struct fixture *f = *state;
	struct writer consts = writer_upto(FILE_LIMIT);
	struct sample_code inner = { .consts = ")\1>\0\0\0\0",
				     .consts_size = 7 };
	size_t count = 0;

	writer_put(&consts, ")\2", 2);
	sample_code_write(&consts, &inner, LAYOUT_NEW);
	sample_code_write(&consts, &inner, LAYOUT_NEW);
	assert_int_equal(read_consts(f, consts.bytes, consts.size), 0);
	for (const struct code *c = f->marshal.codes; c; c = c->next)
		count++;
	assert_int_equal(count, 3);
	assert_non_null(f->marshal.sets);
	assert_non_null(f->marshal.sets->next);
	assert_null(f->marshal.sets->next->next);
	assert_false(f->marshal.has_slice);
	writer_free(&consts);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name) cmocka_unit_test_setup_teardown(name, set_up, tear_down)
		TEST(values_are_what_python_reads),
		TEST(a_reference_is_to_the_values_in_the_order_of_their_start),
		TEST(a_reference_to_what_is_not_yet_read_is_refused),
		TEST(what_dumps_does_not_write_is_refused),
		TEST(nesting_has_a_limit),
		TEST(memory_has_a_limit),
		TEST(any_limit_is_enough_or_said_to_be_too_low),
		TEST(both_layouts_are_read_and_not_confused),
		TEST(no_prefix_and_nothing_longer_is_read),
		TEST(all_code_objects_and_sets_are_listed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
