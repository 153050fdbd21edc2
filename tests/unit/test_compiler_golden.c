/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The text is, byte for byte, what each CPython's dis and TorchAir's own
 * readable_cache() have written. Goes through the shared material as well,
 * where TACFS_SHARED says that there is some.
 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/artifact.h"
#include "compiler/readable.h"
#include "compiler/show.h"
#include "tests/unit/compiler_files.h"

/* "3.8" from ".../3.8/NAME". */
static const struct python *python_of(const char *path)
{
	const char *end = file_name(path) - 1;
	const char *start = end;
	char name[8] = "";

	while (start > path && start[-1] != '/')
		start--;
	assert_true((size_t)(end - start) < sizeof(name));
	memcpy(name, start, (size_t)(end - start));
	return python_named(name);
}

static void expect_text(const char *path, const struct writer *text,
			const struct file_bytes *expected)
{
	if (text->size != expected->size ||
	    memcmp(text->bytes, expected->bytes, text->size) != 0)
		fail_msg("%s: the text differs", path);
}

static void expect_dis(const char *path, const struct file_bytes *code,
		       const struct python *python,
		       const struct file_bytes *expected)
{
	struct writer text = writer_upto(READABLE_MAX);
	struct fault fault = { 0 };

	if (show_dis(code->bytes, code->size, python, &text, &fault))
		fail_msg("%s: %s", path, fault.why);
	expect_text(path, &text, expected);
	writer_free(&text);
}

static void check_dis(const char *path, void *context)
{
	const struct python *python = python_of(path);
	char *dis = path_with_ending(path, ".marshal", ".dis");
	struct file_bytes code = file_read(path);
	struct file_bytes expected = file_read(dis);

	(void)context;
	assert_non_null(python);
	expect_dis(path, &code, python, &expected);
	expect_dis(path, &code, NULL, &expected);
	file_free(&code);
	file_free(&expected);
	free(dis);
}

static void check_render(const char *path, const struct file_bytes *expected)
{
	struct file_bytes file = file_read(path);
	struct writer text = writer_upto(READABLE_MAX);
	struct reading reading;
	struct verdict verdict;

	artifact_judge(ARTIFACT_COMPILED_MODULE, file.bytes, file.size,
		       &verdict);
	if (verdict.soundness != SOUND)
		fail_msg("%s: %s", path, verdict.reason);
	assert_int_equal(readable_render_as(file.bytes, file.size, NULL, &text,
					    &reading),
			 0);
	expect_text(path, &text, expected);
	assert_int_equal(reading.verdict.soundness, SOUND);
	assert_non_null(reading.python);
	assert_false(reading.is_cut);
	writer_free(&text);
	file_free(&file);
}

/* NAME.readable beside NAME.compiled_module. */
static void check_pair(const char *path, void *context)
{
	char *module = path_with_ending(path, ".readable", ".compiled_module");
	struct file_bytes expected = file_read(path);

	(void)context;
	check_render(module, &expected);
	file_free(&expected);
	free(module);
}

/* readable/PATH.readable.py for trees/PATH. */
static void check_cache(const char *path, void *context)
{
	const char *root = context;
	const char *below = path + strlen(root) + strlen("/readable/");
	char *name = path_with_ending(below, ".readable.py", "");
	struct file_bytes expected = file_read(path);
	char *module = NULL;

	if (asprintf(&module, "%s/trees/%s", root, name) < 0)
		fail_msg("out of memory");
	check_render(module, &expected);
	file_free(&expected);
	free(module);
	free(name);
}

static size_t check_caches(const char *root)
{
	char context[4096], path[4096 + 16];

	snprintf(context, sizeof(context), "%s", root);
	snprintf(path, sizeof(path), "%s/readable", context);
	return files_visit(path, ".readable.py", check_cache, context);
}

static void code_is_shown_as_dis_does(void **state)
{
	(void)state;
	assert_true(files_visit(GOLDEN "/dis", ".marshal", check_dis, NULL) >
		    70);
}

static void modules_are_shown_as_readable_cache_does(void **state)
{
	(void)state;
	assert_true(files_visit(GOLDEN "/readable", ".readable", check_pair,
				NULL) >= 49);
}

static void real_caches_are_shown_as_readable_cache_does(void **state)
{
	char room[4096];
	const char *shared = shared_path("caches", room, sizeof(room));

	(void)state;
	assert_true(check_caches(DATA "/caches") > 0);
	if (shared)
		assert_true(check_caches(shared) > 0);
}

static void the_whole_corpus_is_shown_as_dis_does(void **state)
{
	char room[4096];
	const char *corpus = shared_path("cpython/corpus", room, sizeof(room));

	(void)state;
	if (!corpus)
		skip();
	assert_true(files_visit(corpus, ".marshal", check_dis, NULL) >= 1050);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(code_is_shown_as_dis_does),
		cmocka_unit_test(modules_are_shown_as_readable_cache_does),
		cmocka_unit_test(real_caches_are_shown_as_readable_cache_does),
		cmocka_unit_test(the_whole_corpus_is_shown_as_dis_does),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
