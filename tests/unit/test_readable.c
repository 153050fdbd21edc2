/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/compiled_module.h"
#include "compiler/readable.h"
#include "compiler/show.h"
#include "tests/unit/pickles.h"
#include "tests/unit/python_values.h"

enum { LIMIT = 1 << 24 };

/* A code object of 3.13, so that all of the file is sound. */
static struct writer good_code(void)
{
	static const struct sample_code code = { .bytecode = "\x95\0S\0$\0",
						 .bytecode_size = 6,
						 .lines = "\xd2\0",
						 .lines_size = 2,
						 .first_line = 1 };
	struct writer out = writer_upto(LIMIT);

	sample_code_write(&out, &code, LAYOUT_NEW);
	return out;
}

static struct writer good_module(struct sample_pickle sample)
{
	struct writer code = good_code();
	struct writer file;

	sample.compiled_fn = code.bytes;
	sample.compiled_fn_size = code.size;
	file = sample_pickle(&sample);
	writer_free(&code);
	return file;
}

/* The text, NUL-terminated; to be freed. */
static char *render(const struct writer *file, size_t size)
{
	struct writer text = writer_upto(READABLE_MAX);

	assert_int_equal(readable_render(file->bytes, size, &text), 0);
	writer_u8(&text, 0);
	return (char *)writer_take(&text, &size);
}

static void expect_in(const char *text, const char *part)
{
	if (!strstr(text, part))
		fail_msg("\"%s\" is not in:\n%s", part, text);
}

static void expect_start(const char *text, const char *start)
{
	if (strncmp(text, start, strlen(start)) != 0)
		fail_msg("\"%s\" is not the start of:\n%s", start, text);
}

static void a_sound_module_is_shown_whole(void **state)
{
	struct writer file =
		good_module((struct sample_pickle){ .signature = "a\n\nb\r" });
	char *text = render(&file, file.size);

	(void)state;
	expect_start(text, "# =====");
	expect_in(text, "\n# ModelCacheMeta(name='f(x)', date='2026-01-01', "
			"version='1.0.5')\n# a\n# \n# b\r\n# -----");
	expect_in(text, "-----caller frame-----");
	expect_in(text, "\n#   1           RESUME                   0\n");
	expect_in(text, "\n#               RETURN_VALUE\n# \npass\n");
	free(text);
	writer_free(&file);
}

static void an_empty_file_is_said_to_be_empty(void **state)
{
	struct writer nothing = writer_upto(1);
	char *text = render(&nothing, 0);

	(void)state;
	assert_string_equal(text, "# This compiled_module is damaged, at byte "
				  "0: the file is empty.\n# \n");
	free(text);
}

/* However much is missing, what is there is shown, after a comment. */
static void of_a_file_cut_short_the_beginning_is_shown(void **state)
{
	struct writer file = good_module(
		(struct sample_pickle){ .py_code = "first = 1\nlast = 2\n" });
	bool shown = false;

	(void)state;
	for (size_t size = 0; size < file.size; size++) {
		char *text = render(&file, size);

		expect_start(text, "# This compiled_module is damaged, at ");
		if (strstr(text, "\nfirst = 1\nlast")) {
			expect_in(text, "name='f(x)'");
			expect_in(text, "\n# graph\n");
			expect_in(text, "RETURN_VALUE");
			shown = true;
		} else {
			assert_false(shown); /* and ever after */
		}
		free(text);
	}
	assert_true(shown);
	writer_free(&file);
}

static void code_of_no_known_python_leaves_the_rest_readable(void **state)
{
	struct writer file = sample_pickle(&(struct sample_pickle){ 0 });
	char *text = render(&file, file.size);

	(void)state;
	expect_start(text, "# compiled_fn cannot be shown, at byte ");
	expect_in(text, "version='1.0.5')\n# graph\n# \npass\n");
	assert_null(strstr(text, "caller frame"));
	free(text);
	writer_free(&file);
}

/* One byte is wrong: all others are as readable as they were. */
static void of_damaged_code_the_rest_is_shown(void **state)
{
	struct writer file = good_module((struct sample_pickle){ 0 });
	uint8_t *code = memmem(file.bytes, file.size, "\x95\0S\0$\0", 6);
	char *text;

	(void)state;
	assert_non_null(code);
	code[2] = 0xff;
	text = render(&file, file.size);
	expect_start(text, "# compiled_fn cannot be shown, at byte ");
	expect_in(text, ": no known Python has written this bytecode.\n# What "
			"could be read of it is shown as Python 3.13 would");
	expect_in(text, "\n# [Unsound at byte ");
	expect_in(text, ": an unknown opcode.]\n"
			"#   1           RESUME                   0\n"
			"#               <255>\n"
			"#               RETURN_VALUE\n");
	expect_in(text, "\npass\n");
	free(text);
	writer_free(&file);
}

static void code_cut_short_is_shown_as_far_as_it_goes(void **state)
{
	struct writer file = good_module((struct sample_pickle){ 0 });
	uint8_t *code = memmem(file.bytes, file.size, "\x95\0S\0$\0", 6);
	char *text;

	(void)state;
	assert_non_null(code);
	text = render(&file, (size_t)(code - file.bytes) + 8);
	expect_start(text, "# This compiled_module is damaged, at byte ");
	expect_in(text, "\n# compiled_fn cannot be shown, at byte ");
	expect_in(text, "\n# Disassembly of the code object at byte ");
	expect_in(text, ", of which a part is missing:\n");
	expect_in(text, "RETURN_VALUE\n");
	free(text);
	writer_free(&file);
}

static void text_beyond_the_limit_is_cut_and_says_so(void **state)
{
	enum { LINES = 40000, SMALL = 20000 };
	char *signature = calloc(1, LINES + 1);
	struct writer text = writer_upto(SMALL), file;
	struct reading reading;

	(void)state;
	assert_non_null(signature);
	memset(signature, '\n', LINES);
	file = good_module((struct sample_pickle){ .signature = signature });
	assert_int_equal(readable_render_as(file.bytes, file.size, NULL, &text,
					    &reading),
			 0);
	writer_u8(&text, 0);
	assert_int_equal(text.err, 0);
	assert_true(reading.is_cut);
	assert_int_equal(reading.verdict.soundness, SOUND);
	expect_start((char *)text.bytes, "# =====");
	expect_in((char *)text.bytes,
		  "\n# [The text is cut here: it is longer than allowed. The "
		  "limit is 20000 bytes.]\n# \npass\n");
	writer_free(&text);
	writer_free(&file);
	free(signature);
}

static void an_unknown_version_is_named_but_shown(void **state)
{
	struct writer file =
		good_module((struct sample_pickle){ .version = "9.9" });
	char *text = render(&file, file.size);

	(void)state;
	expect_start(text, "# This is not a compiled_module as we know it, at");
	expect_in(text, ": a version that is not known: '9.9'.\n");
	expect_in(text, "version='9.9'");
	expect_in(text, "RETURN_VALUE");
	expect_in(text, "\npass\n");
	free(text);
	writer_free(&file);
}

static void what_would_run_code_is_shown_and_not_run(void **state)
{
	static const char call[] = "\x80\4\x8c\7version\x8c\3"
				   "1.0cos\nsystem\n"
				   "\x8c\2ls\x85R.";
	struct writer file = writer_upto(LIMIT);
	char *text;

	(void)state;
	writer_put(&file, call, sizeof(call) - 1);
	text = render(&file, file.size);
	expect_start(text, "# This is not a compiled_module as TorchAir writes "
			   "it, at byte 16: a class that is not known: 'os' "
			   "'system'.\n");
	expect_in(text, "version='1.0'");
	free(text);
	writer_free(&file);
}

static void a_lone_surrogate_does_not_reach_the_file(void **state)
{
	struct writer file = good_module(
		(struct sample_pickle){ .name = "\xed\xa0\x80",
					.signature = "\xed\xa0\x80",
					.py_code = "# \xed\xbf\xbf\n" });
	char *text = render(&file, file.size);

	(void)state;
	expect_in(text, "name='\\ud800'");
	expect_in(text, "\n# \xef\xbf\xbd\n");
	expect_in(text, "\n# \n# \xef\xbf\xbd\n");
	free(text);
	writer_free(&file);
}

static void what_is_read_is_judged_too(void **state)
{
	static const struct {
		struct sample_pickle sample;
		bool is_good;
		size_t cut;
		enum soundness soundness;
	} cases[] = {
		{ { 0 }, true, 0, SOUND },
		{ { 0 }, true, 1, UNSOUND },
		{ { 0 }, false, 0, FOREIGN }, /* the code is none */
		{ { .version = "9.9" }, true, 0, FOREIGN },
		{ { .module = "os" }, true, 0, FOREIGN },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer file = cases[i].is_good
					     ? good_module(cases[i].sample)
					     : sample_pickle(&cases[i].sample);
		size_t size = file.size - cases[i].cut;
		struct writer text = writer_upto(LIMIT);
		struct reading reading;
		struct verdict verdict;

		assert_int_equal(readable_render_as(file.bytes, size, NULL,
						    &text, &reading),
				 0);
		compiled_module_judge(file.bytes, size, &verdict);
		assert_int_equal(verdict.soundness, cases[i].soundness);
		assert_int_equal(reading.verdict.soundness, verdict.soundness);
		assert_int_equal(reading.verdict.where, verdict.where);
		assert_string_equal(reading.verdict.reason, verdict.reason);
		writer_free(&text);
		writer_free(&file);
	}
}

static void the_writer_s_limit_is_kept(void **state)
{
	struct writer file = good_module((struct sample_pickle){ 0 });
	struct writer text = writer_upto(100);

	(void)state;
	assert_int_equal(readable_render(file.bytes, file.size, &text), -EFBIG);
	writer_free(&text);
	writer_free(&file);
}

static void verdicts_speak_of_offsets_in_the_file(void **state)
{
	struct writer file =
		good_module((struct sample_pickle){ .version = "9\n9" });
	struct verdict verdict;

	(void)state;
	compiled_module_judge(file.bytes, file.size, &verdict);
	assert_int_equal(verdict.soundness, FOREIGN);
	assert_memory_equal(file.bytes + verdict.where, "9\n9", 3);
	assert_string_equal(verdict.reason,
			    "a version that is not known: '9\\n9'");
	writer_free(&file);

	file = sample_pickle(&(struct sample_pickle){ 0 });
	compiled_module_judge(file.bytes, file.size, &verdict);
	assert_int_equal(verdict.soundness, FOREIGN);
	assert_true(verdict.where > 100);
	writer_free(&file);
}

static void every_published_version_is_known(void **state)
{
	static const char *const versions[] = { "1.0.0", "1.0.1", "1.0.2",
						"1.0.3", "1.0.4", "1.0.5",
						"1.0.6" };

	(void)state;
	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++) {
		struct writer file = good_module(
			(struct sample_pickle){ .version = versions[i] });
		struct verdict verdict;

		compiled_module_judge(file.bytes, file.size, &verdict);
		assert_int_equal(verdict.soundness, SOUND);
		writer_free(&file);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(a_sound_module_is_shown_whole),
		cmocka_unit_test(an_empty_file_is_said_to_be_empty),
		cmocka_unit_test(of_a_file_cut_short_the_beginning_is_shown),
		cmocka_unit_test(
			code_of_no_known_python_leaves_the_rest_readable),
		cmocka_unit_test(of_damaged_code_the_rest_is_shown),
		cmocka_unit_test(code_cut_short_is_shown_as_far_as_it_goes),
		cmocka_unit_test(text_beyond_the_limit_is_cut_and_says_so),
		cmocka_unit_test(an_unknown_version_is_named_but_shown),
		cmocka_unit_test(what_would_run_code_is_shown_and_not_run),
		cmocka_unit_test(a_lone_surrogate_does_not_reach_the_file),
		cmocka_unit_test(what_is_read_is_judged_too),
		cmocka_unit_test(the_writer_s_limit_is_kept),
		cmocka_unit_test(verdicts_speak_of_offsets_in_the_file),
		cmocka_unit_test(every_published_version_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
