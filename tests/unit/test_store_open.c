/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/format.h"
#include "tests/unit/store_fixture.h"

enum { WHY_SIZE = 256 };

/* A fixture without a store. */
static int setup(void **state)
{
	struct fixture *f = calloc(1, sizeof(*f));

	if (!f)
		return -1;
	if (!make_temp_dir(f->dir))
		return -1;
	snprintf(f->path, sizeof(f->path), "%s/store", f->dir);
	*state = f;
	return 0;
}

static int teardown(void **state)
{
	struct fixture *f = *state;

	remove_tree(f->dir);
	free(f);
	return 0;
}

static int try_open(const struct fixture *f, bool create, char *why)
{
	const struct store_config config = { .create = create };
	struct store *store;
	int err = store_open(f->path, &config, &store, why, WHY_SIZE);

	if (!err)
		store_close(store);
	return err;
}

static void put_file(const struct fixture *f, const char *path,
		     const char *text)
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	file = fopen(full, "we");
	assert_non_null(file);
	assert_true(fputs(text, file) >= 0);
	assert_int_equal(fclose(file), 0);
}

static void put_dir(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];

	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	assert_int_equal(mkdir(full, 0700), 0);
}

static void get_format(const struct fixture *f, char text[FORMAT_SIZE_MAX])
{
	char full[PATH_MAX];
	FILE *file;

	snprintf(full, sizeof(full), "%s/FORMAT", f->path);
	file = fopen(full, "re");
	assert_non_null(file);
	text[fread(text, 1, FORMAT_SIZE_MAX - 1, file)] = '\0';
	fclose(file);
}

static void a_store_is_made_only_when_asked(void **state)
{
	struct fixture *f = *state;
	char why[WHY_SIZE];

	assert_int_equal(try_open(f, false, why), -ENOENT);
	assert_int_equal(mkdir(f->path, 0700), 0);
	assert_int_equal(try_open(f, false, why), -ENOENT);
	assert_non_null(strstr(why, "FORMAT"));
	assert_int_equal(try_open(f, true, why), 0);
	assert_int_equal(try_open(f, false, why), 0);
	assert_int_equal(try_open(f, true, why), 0);
}

static void an_opened_store_has_the_same_format_again(void **state)
{
	struct fixture *f = *state;
	char first[FORMAT_SIZE_MAX];
	char second[FORMAT_SIZE_MAX];
	char why[WHY_SIZE];

	assert_int_equal(try_open(f, true, why), 0);
	get_format(f, first);
	assert_int_equal(try_open(f, true, why), 0);
	get_format(f, second);
	assert_string_equal(first, second);
}

static void a_directory_with_something_else_is_refused(void **state)
{
	struct fixture *f = *state;
	char why[WHY_SIZE];

	assert_int_equal(mkdir(f->path, 0700), 0);
	put_dir(f, "tmp");
	put_file(f, "tmp/mine", "");
	assert_int_equal(try_open(f, true, why), -ENOTEMPTY);
	assert_non_null(strstr(why, "not empty"));
	remove_file(f, "tmp/mine");
	put_file(f, "mine", "");
	assert_int_equal(try_open(f, true, why), -ENOTEMPTY);
	assert_false(file_exists(f, "FORMAT"));
}

static void what_a_killed_creator_left_is_completed(void **state)
{
	static const char *const dirs[] = { "packs", "trash/packs",
					    "trash/evicted", "trash",
					    "refs/default" };
	struct fixture *f = *state;
	char why[WHY_SIZE];

	assert_int_equal(mkdir(f->path, 0700), 0);
	put_dir(f, "tmp");
	put_file(f, "tmp/draft-0123456789abcdef", "tacfs-");
	put_dir(f, "lost+found");
	assert_int_equal(try_open(f, true, why), 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++) {
		char full[PATH_MAX];

		snprintf(full, sizeof(full), "%s/%s", f->path, dirs[i]);
		assert_int_equal(rmdir(full), 0);
	}
	assert_int_equal(try_open(f, false, why), 0);
	for (size_t i = 0; i < sizeof(dirs) / sizeof(*dirs); i++)
		assert_true(file_exists(f, dirs[i]));
}

static void a_path_that_is_no_directory_is_refused(void **state)
{
	struct fixture *f = *state;
	char why[WHY_SIZE];
	int fd = open(f->path, O_CREAT | O_WRONLY | O_CLOEXEC, 0600);

	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(try_open(f, true, why), -ENOTDIR);
	snprintf(f->path, sizeof(f->path), "%s/not/there", f->dir);
	assert_int_equal(try_open(f, true, why), -ENOENT);
}

static void parts_that_are_links_are_refused(void **state)
{
	struct fixture *f = *state;
	char full[PATH_MAX];
	char why[WHY_SIZE];

	assert_int_equal(try_open(f, true, why), 0);
	snprintf(full, sizeof(full), "%s/packs", f->path);
	assert_int_equal(rmdir(full), 0);
	assert_int_equal(symlink("/tmp", full), 0);
	assert_int_not_equal(try_open(f, true, why), 0);
	assert_non_null(strstr(why, "packs"));
}

static void a_damaged_format_is_refused_whatever_the_byte(void **state)
{
	struct fixture *f = *state;
	char text[FORMAT_SIZE_MAX];
	char why[WHY_SIZE];

	assert_int_equal(try_open(f, true, why), 0);
	get_format(f, text);
	for (size_t i = 0; text[i]; i++) {
		int err;

		text[i] ^= 1;
		put_file(f, "FORMAT", text);
		text[i] ^= 1;
		err = try_open(f, true, why);
		if (strncmp(why, "FORMAT says 'tacfs-store: 0'", 28) == 0)
			assert_int_equal(err, -ENOTSUP);
		else
			assert_int_equal(err, -EBADMSG);
		assert_non_null(strstr(why, "FORMAT"));
	}
	for (size_t size = strlen(text); size-- > 0;) {
		text[size] = '\0';
		put_file(f, "FORMAT", text);
		assert_int_equal(try_open(f, true, why), -EBADMSG);
	}
}

/* Puts one line in place of another, with a check that is right. */
static int open_with_line(const struct fixture *f, const char *key,
			  const char *line, char *why)
{
	char old[FORMAT_SIZE_MAX];
	char text[2 * FORMAT_SIZE_MAX];
	const char *at;
	size_t size;

	remove_tree(f->path);
	assert_int_equal(try_open(f, true, why), 0);
	get_format(f, old);
	at = strstr(old, key);
	assert_non_null(at);
	*strstr(old, "check:") = '\0';
	size = (size_t)snprintf(text, sizeof(text), "%.*s%s%s", (int)(at - old),
				old, line, strchr(at, '\n'));
	snprintf(text + size, sizeof(text) - size, "check: %016llx\n",
		 (unsigned long long)check_of(text, size, 0));
	put_file(f, "FORMAT", text);
	return try_open(f, true, why);
}

static void what_a_later_program_made_is_refused_by_name(void **state)
{
	static const struct {
		const char *key, *line, *told;
		int err;
	} cases[] = {
		{ "tacfs-store:", "tacfs-store: 2", "'tacfs-store: 2'",
		  -ENOTSUP },
		{ "tacfs-store:", "tacfs-store: x", "'x'", -EBADMSG },
		{ "hash:", "hash: blake3", "'hash: blake3'", -ENOTSUP },
		{ "chunker:", "chunker: gear 1 2 3", "'chunker: gear 1 2 3'",
		  -ENOTSUP },
		{ "features:", "features: holes", "'features: holes'",
		  -ENOTSUP },
		{ "features:", "features: collect,holes",
		  "'features: collect,holes'", -ENOTSUP },
		{ "features:", "features: collect,holes", "not know 'holes'",
		  -ENOTSUP },
		{ "features:", "features: shared,collect", "'features:'",
		  -EBADMSG },
		{ "features:", "features: collect,collect", "'features:'",
		  -EBADMSG },
		{ "features:", "feature:", "'features:'", -EBADMSG },
		{ "features:", "features: ", "'features:'", -EBADMSG },
		{ "features:", "features:\nmore: 1", "too many", -EBADMSG },
		{ "seed:", "seed: 0", "'seed:'", -EBADMSG },
		{ "uuid:", "uuid: 0", "'uuid:'", -EBADMSG },
		{ "uuid:", "uuid: \x1b[31m", "'uuid:'", -EBADMSG },
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char why[WHY_SIZE] = "";

		assert_int_equal(
			open_with_line(f, cases[i].key, cases[i].line, why),
			cases[i].err);
		assert_non_null(strstr(why, "FORMAT"));
		assert_non_null(strstr(why, cases[i].told));
	}
}

static void a_new_store_may_be_collected(void **state)
{
	struct fixture *f = *state;
	struct format format = { .seed = 0 };
	char text[FORMAT_SIZE_MAX];
	char why[WHY_SIZE];

	assert_int_equal(try_open(f, true, why), 0);
	get_format(f, text);
	assert_int_equal(
		format_parse(text, strlen(text), &format, why, sizeof(why)), 0);
	assert_int_equal(format.features, FORMAT_COLLECT);
}

static void a_store_of_before_features_is_used(void **state)
{
	struct fixture *f = *state;
	char why[WHY_SIZE];

	assert_int_equal(open_with_line(f, "features:", "features:", why), 0);
}

static void a_namespace_is_a_directory_of_its_own(void **state)
{
	static const char *const refused[] = { "", ".", "..", "a/b" };
	struct fixture *f = *state;
	struct store_config config = { .create = true, .space = "tenant" };
	struct store *store;
	char why[WHY_SIZE];

	assert_int_equal(store_open(f->path, &config, &store, why, sizeof(why)),
			 0);
	publish(store, "file", "abc", 3);
	store_close(store);
	assert_true(file_exists(f, "refs/tenant/file"));
	for (size_t i = 0; i < sizeof(refused) / sizeof(*refused); i++) {
		config.space = refused[i];
		assert_int_equal(
			store_open(f->path, &config, &store, why, sizeof(why)),
			-EINVAL);
	}
}

static mode_t mode_of(const struct fixture *f, const char *path)
{
	char full[PATH_MAX];
	struct stat st;

	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	assert_int_equal(stat(full, &st), 0);
	return st.st_mode & 07777;
}

static void modes_follow_those_of_the_stores_directory(void **state)
{
	static const struct {
		mode_t root, dir, file;
	} cases[] = {
		{ 0700, 0700, 0600 },
		{ 0750, 0750, 0640 },
		{ 01777, 01777, 0644 },
		{ 02770, 02770, 0640 },
	};
	struct fixture *f = *state;
	uint8_t bytes[5000];

	fill(bytes, sizeof(bytes), 1, 256);
	for (size_t i = 0; i < sizeof(cases) / sizeof(*cases); i++) {
		char path[PACK_NAME_SIZE];
		mode_t mask = umask(027);

		remove_tree(f->path);
		assert_int_equal(mkdir(f->path, 0700), 0);
		assert_int_equal(chmod(f->path, cases[i].root), 0);
		f->store = fixture_open(f);
		publish(f->store, "file", bytes, sizeof(bytes));
		store_close(f->store);
		umask(mask);
		assert_true(first_pack(f, path));
		assert_int_equal(mode_of(f, path), cases[i].file);
		assert_int_equal(mode_of(f, "refs/default/file"),
				 cases[i].file);
		assert_int_equal(mode_of(f, "refs/default"), cases[i].dir);
		path[sizeof("packs/00") - 1] = '\0';
		assert_int_equal(mode_of(f, path), cases[i].dir);
	}
}

/* One of the processes that make the store at the same moment. */
static void create_and_publish(struct fixture *f, int number, int go)
{
	char name[16];
	char byte;

	snprintf(name, sizeof(name), "file%d", number);
	if (read(go, &byte, 1) != 0)
		_exit(1);
	f->store = fixture_open(f);
	publish(f->store, name, name, strlen(name));
	store_close(f->store);
	_exit(0);
}

static void creators_at_once_make_one_store(void **state)
{
	enum { CREATORS = 8, ROUNDS = 10 };
	struct fixture *f = *state;

	for (int round = 0; round < ROUNDS; round++) {
		int go[2];
		int status;

		remove_tree(f->path);
		assert_int_equal(pipe2(go, O_CLOEXEC), 0);
		for (int i = 0; i < CREATORS; i++) {
			pid_t pid = fork();

			assert_true(pid >= 0);
			if (pid == 0) {
				close(go[1]);
				create_and_publish(f, i, go[0]);
			}
		}
		close(go[0]);
		close(go[1]);
		for (int i = 0; i < CREATORS; i++) {
			assert_true(wait(&status) > 0);
			assert_int_equal(status, 0);
		}
		f->store = fixture_open(f);
		for (int i = 0; i < CREATORS; i++) {
			char name[16];

			snprintf(name, sizeof(name), "file%d", i);
			assert_reads(f->store, name, name, strlen(name));
		}
		store_close(f->store);
	}
}

#define TEST(name) cmocka_unit_test_setup_teardown(name, setup, teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_store_is_made_only_when_asked),
		TEST(an_opened_store_has_the_same_format_again),
		TEST(a_directory_with_something_else_is_refused),
		TEST(what_a_killed_creator_left_is_completed),
		TEST(a_path_that_is_no_directory_is_refused),
		TEST(parts_that_are_links_are_refused),
		TEST(a_damaged_format_is_refused_whatever_the_byte),
		TEST(what_a_later_program_made_is_refused_by_name),
		TEST(a_new_store_may_be_collected),
		TEST(a_store_of_before_features_is_used),
		TEST(a_namespace_is_a_directory_of_its_own),
		TEST(modes_follow_those_of_the_stores_directory),
		TEST(creators_at_once_make_one_store),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
