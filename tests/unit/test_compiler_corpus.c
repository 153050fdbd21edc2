/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Every input of the corpora is judged as its name says: good, bad, or
 * unsupported, which is whole but not what we know.
 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "compiler/artifact.h"
#include "compiler/show.h"
#include "tests/unit/compiler_files.h"

static enum soundness soundness_named(const char *path)
{
	const char *name = file_name(path);

	if (strncmp(name, "good-", 5) == 0)
		return SOUND;
	if (strncmp(name, "unsupported-", 12) == 0)
		return FOREIGN;
	assert_int_equal(strncmp(name, "bad-", 4), 0);
	return UNSOUND;
}

static void judge(const char *path, void *context)
{
	enum artifact_kind kind = *(enum artifact_kind *)context;
	struct file_bytes file = file_read(path);
	struct verdict verdict;

	artifact_judge(kind, file.bytes, file.size, &verdict);
	if (verdict.soundness != soundness_named(path))
		fail_msg("%s: %d, %s", path, verdict.soundness, verdict.reason);
	assert_true(verdict.where <= file.size);
	assert_int_equal(verdict.soundness == SOUND, !*verdict.reason);
	file_free(&file);
}

static void judge_all(const char *directory, enum artifact_kind kind)
{
	char path[512];

	snprintf(path, sizeof(path), "%s/%s", CORPUS, directory);
	assert_true(files_visit(path, "", judge, &kind) > 10);
}

static void pickles_are_what_they_are_called(void **state)
{
	(void)state;
	judge_all("pickle", ARTIFACT_COMPILED_MODULE);
}

static void compiled_modules_are_what_they_are_called(void **state)
{
	(void)state;
	judge_all("readable", ARTIFACT_COMPILED_MODULE);
}

static void models_are_what_they_are_called(void **state)
{
	(void)state;
	judge_all("om", ARTIFACT_OM);
}

static void indexes_are_what_they_are_called(void **state)
{
	(void)state;
	judge_all("index", ARTIFACT_INDEX);
}

static void detect(const char *path, void *context)
{
	struct file_bytes file = file_read(path);
	const struct python *python;
	struct fault fault;
	int err = show_detect(file.bytes, file.size, &python, &fault);
	enum soundness found = FOREIGN;

	(void)context;
	if (!err)
		found = SOUND;
	else if (err == -EBADMSG)
		found = UNSOUND;
	if (found != soundness_named(path))
		fail_msg("%s: %d", path, err);
	file_free(&file);
}

static void marshalled_code_is_what_it_is_called(void **state)
{
	(void)state;
	assert_true(files_visit(CORPUS "/marshal", "", detect, NULL) > 10);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(pickles_are_what_they_are_called),
		cmocka_unit_test(compiled_modules_are_what_they_are_called),
		cmocka_unit_test(models_are_what_they_are_called),
		cmocka_unit_test(indexes_are_what_they_are_called),
		cmocka_unit_test(marshalled_code_is_what_it_is_called),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
