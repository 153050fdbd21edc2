/* SPDX-License-Identifier: Apache-2.0 */
/*
 * The corpus of packs and manifests holds files of the format as it was when
 * they were added: what is called good there must stay readable for good.
 */
#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/samples.h"

enum { FILE_MAX = 1 << 20, ARENA_LIMIT = 1 << 24 };

static int judge_pack(const uint8_t *bytes, size_t size, struct arena *arena)
{
	struct pack_table table;

	return sample_pack_parse(bytes, size, arena, &table);
}

static int judge_manifest(const uint8_t *bytes, size_t size,
			  struct arena *arena)
{
	struct manifest m;
	const char *why;

	return manifest_parse(bytes, size, arena, &m, &why);
}

static int expected(const char *name)
{
	if (strncmp(name, "good-", 5) == 0)
		return 0;
	if (strncmp(name, "unsupported-", 12) == 0)
		return -ENOTSUP;
	return -EBADMSG;
}

static size_t load(const char *directory, const char *name,
		   uint8_t bytes[FILE_MAX])
{
	char path[4096];
	size_t size;
	FILE *file;

	snprintf(path, sizeof(path), "%s/%s", directory, name);
	file = fopen(path, "rb");
	assert_non_null(file);
	size = fread(bytes, 1, FILE_MAX, file);
	fclose(file);
	assert_true(size < FILE_MAX);
	return size;
}

static void judge_all(const char *directory,
		      int (*judge)(const uint8_t *, size_t, struct arena *))
{
	static uint8_t bytes[FILE_MAX];
	DIR *dir = opendir(directory);
	size_t count = 0;

	assert_non_null(dir);
	for (struct dirent *entry; (entry = readdir(dir));) {
		struct arena arena = arena_upto(ARENA_LIMIT);
		size_t size;
		int err;

		if (entry->d_name[0] == '.')
			continue;
		size = load(directory, entry->d_name, bytes);
		err = judge(bytes, size, &arena);
		if (err != expected(entry->d_name))
			fail_msg("%s: %d", entry->d_name, err);
		arena_free(&arena);
		count++;
	}
	closedir(dir);
	assert_true(count > 0);
}

static void packs_are_what_their_names_say(void **state)
{
	(void)state;
	judge_all(CORPUS "/pack", judge_pack);
}

static void manifests_are_what_their_names_say(void **state)
{
	(void)state;
	judge_all(CORPUS "/manifest", judge_manifest);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(packs_are_what_their_names_say),
		cmocka_unit_test(manifests_are_what_their_names_say),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
