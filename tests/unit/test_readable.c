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

static void an_unknown_version_is_named_but_shown(void **state)
{
	struct writer file =
		good_module((struct sample_pickle){ .version = "9.9" });
	char *text = render(&file, file.size);

	(void)state;
	expect_start(text, "# This is not a compiled_module as we know it, at");
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
			   "it, at byte 16: a class that is not TorchAir's.\n");
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

static void exact_rendering_is_all_or_nothing(void **state)
{
	static const struct {
		struct sample_pickle sample;
		bool is_good;
		size_t cut;
		int err;
	} cases[] = {
		{ { 0 }, true, 0, 0 },
		{ { 0 }, true, 1, -EBADMSG },
		{ { 0 }, false, 0, -EBADMSG }, /* the code is none */
		{ { .version = "9.9" }, true, 0, -ENOTSUP },
		{ { .module = "os" }, true, 0, -ENOTSUP },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct writer file = cases[i].is_good
					     ? good_module(cases[i].sample)
					     : sample_pickle(&cases[i].sample);
		struct writer text = writer_upto(LIMIT);
		struct fault fault = { NULL, 0 };

		assert_int_equal(show_readable(file.bytes,
					       file.size - cases[i].cut, &text,
					       &fault),
				 cases[i].err);
		assert_int_equal(text.size == 0, cases[i].err != 0);
		assert_int_equal(fault.why != NULL, cases[i].err != 0);
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
	assert_string_equal(verdict.reason, "version \"9?9\" is not known");
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
		cmocka_unit_test(an_unknown_version_is_named_but_shown),
		cmocka_unit_test(what_would_run_code_is_shown_and_not_run),
		cmocka_unit_test(a_lone_surrogate_does_not_reach_the_file),
		cmocka_unit_test(exact_rendering_is_all_or_nothing),
		cmocka_unit_test(the_writer_s_limit_is_kept),
		cmocka_unit_test(verdicts_speak_of_offsets_in_the_file),
		cmocka_unit_test(every_published_version_is_known),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
