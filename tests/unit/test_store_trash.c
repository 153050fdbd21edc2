/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/trash.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/state.h"
#include "tests/unit/store_collecting.h"

static void publish_text(struct store *store, const char *name,
			 const char *text)
{
	publish(store, name, text, strlen(text));
}

static void assert_text(struct store *store, const char *name, const char *text)
{
	assert_reads(store, name, text, strlen(text));
}

/* Makes a directory below refs/<namespace>, and deletes `name` there. */
static void delete_at(struct store *store, const char *dir, const char *name)
{
	AUTO_CLOSE int fd = openat(store_refs(store), dir,
				   O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(fd >= 0);
	assert_int_equal(trash_delete(store, fd, name), 0);
}

static void make_dir(struct store *store, const char *path)
{
	assert_int_equal(mkdirat(store_refs(store), path, 0700), 0);
}

static struct trash_restored restored(struct store *store, const char *path,
				      int expected)
{
	struct trash_restored result = { .files = 0 };

	assert_int_equal(trash_restore(store, path, &result), expected);
	return result;
}

static void an_artifact_comes_back(void **state)
{
	struct fixture *f = *state;

	publish_text(f->store, "graph_1.om", "one");
	delete_at(f->store, ".", "graph_1.om");
	assert_false(file_exists(f, "refs/default/graph_1.om"));
	assert_int_equal(count_below(f, "trash/refs/default/graph_1.om"), 1);
	assert_int_equal(restored(f->store, "graph_1.om", 0).files, 1);
	assert_text(f->store, "graph_1.om", "one");
	assert_int_equal(count_below(f, "trash"), 0);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void other_files_are_kept_only_when_they_are_older(void **state)
{
	struct fixture *f = *state;

	publish_text(f->store, "notes.json", "one");
	delete_at(f->store, ".", "notes.json");
	assert_int_equal(count_below(f, "trash"), 0);
	restored(f->store, "notes.json", -ENOENT);
}

static void what_is_not_there_cannot_be_deleted(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(
		trash_delete(f->store, store_refs(f->store), "missing"),
		-ENOENT);
	make_dir(f->store, "dir");
	assert_int_equal(trash_delete(f->store, store_refs(f->store), "dir"),
			 -EISDIR);
}

static void the_newest_version_comes_back(void **state)
{
	struct fixture *f = *state;

	publish_text(f->store, "a.om", "one");
	delete_at(f->store, ".", "a.om");
	publish_text(f->store, "a.om", "two");
	delete_at(f->store, ".", "a.om");
	restored(f->store, "a.om", 0);
	assert_text(f->store, "a.om", "two");
	assert_int_equal(count_below(f, "trash"), 1);
}

static void a_name_in_use_is_left_alone(void **state)
{
	struct trash_restored result;
	struct fixture *f = *state;

	publish_text(f->store, "a.om", "one");
	delete_at(f->store, ".", "a.om");
	publish_text(f->store, "a.om", "two");
	result = restored(f->store, "a.om", 0);
	assert_int_equal(result.files, 0);
	assert_int_equal(result.taken, 1);
	assert_text(f->store, "a.om", "two");
	assert_int_equal(count_below(f, "trash"), 1);
}

static void a_tree_comes_back_with_its_directories(void **state)
{
	struct fixture *f = *state;

	make_dir(f->store, "model");
	make_dir(f->store, "model/prompt");
	publish_text(f->store, "model/a.om", "one");
	publish_text(f->store, "model/prompt/b.om", "two");
	publish_text(f->store, "c.om", "three");
	delete_at(f->store, "model", "a.om");
	delete_at(f->store, "model/prompt", "b.om");
	delete_at(f->store, ".", "c.om");
	assert_int_equal(
		unlinkat(store_refs(f->store), "model/prompt", AT_REMOVEDIR),
		0);
	assert_int_equal(unlinkat(store_refs(f->store), "model", AT_REMOVEDIR),
			 0);
	assert_int_equal(restored(f->store, "model", 0).files, 2);
	assert_text(f->store, "model/a.om", "one");
	assert_text(f->store, "model/prompt/b.om", "two");
	assert_false(file_exists(f, "refs/default/c.om"));
	assert_int_equal(restored(f->store, "", 0).files, 1);
	assert_text(f->store, "c.om", "three");
}

/* A file can have the name that a directory had, and both come back in turn. */
static void a_directory_in_the_way_is_no_disaster(void **state)
{
	struct trash_restored result = { .files = 0 };
	struct fixture *f = *state;

	publish_text(f->store, "a.om", "one");
	delete_at(f->store, ".", "a.om");
	make_dir(f->store, "a.om");
	assert_int_equal(trash_restore(f->store, "a.om", &result), 0);
	assert_int_equal(result.taken, 1);
	assert_int_equal(unlinkat(store_refs(f->store), "a.om", AT_REMOVEDIR),
			 0);
	restored(f->store, "a.om", 0);
	assert_text(f->store, "a.om", "one");
}

static void a_dry_run_only_tells(void **state)
{
	struct trash_restored result = { .dry_run = true };
	struct fixture *f = *state;

	publish_text(f->store, "a.om", "one");
	delete_at(f->store, ".", "a.om");
	assert_int_equal(trash_restore(f->store, "", &result), 0);
	assert_int_equal(result.files, 1);
	assert_false(file_exists(f, "refs/default/a.om"));
	assert_int_equal(count_below(f, "trash"), 1);
}

static void paths_out_of_the_namespace_are_refused(void **state)
{
	static const char *const paths[] = {
		"/a.om", "..", "../default/a.om", "a/../b", "a//b", "a/", "."
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(paths) / sizeof(*paths); i++)
		restored(f->store, paths[i], -EINVAL);
	restored(f->store, "missing", -ENOENT);
	restored(f->store, "", -ENOENT);
}

static void what_was_deleted_before_a_moment_expires(void **state)
{
	struct fixture *f = *state;
	size_t files = 0;

	make_dir(f->store, "model");
	publish_text(f->store, "model/a.om", "one");
	delete_at(f->store, "model", "a.om");
	assert_int_equal(trash_expire(f->store, 1000, false, &files), 0);
	assert_int_equal(files, 0);
	assert_int_equal(trash_expire(f->store, INT64_MAX, true, &files), 0);
	assert_int_equal(files, 1);
	assert_int_equal(count_below(f, "trash"), 1);
	assert_int_equal(trash_expire(f->store, INT64_MAX, false, &files), 0);
	assert_int_equal(files, 2);
	assert_false(file_exists(f, "trash/refs/default"));
	restored(f->store, "", -ENOENT);
}

static void what_is_published_keeps_its_inode_number(void **state)
{
	struct fixture *f = *state;
	struct version *v;

	publish_text(f->store, "a.om", "one");
	delete_at(f->store, ".", "a.om");
	restored(f->store, "a.om", 0);
	assert_int_equal(
		version_load(f->store, store_refs(f->store), "a.om", &v), 0);
	assert_int_equal(version_meta(v)->ino, 7);
	assert_int_equal(version_meta(v)->mode, 0600);
	version_put(v);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(an_artifact_comes_back),
		STORE_TEST(other_files_are_kept_only_when_they_are_older),
		STORE_TEST(what_is_not_there_cannot_be_deleted),
		STORE_TEST(the_newest_version_comes_back),
		STORE_TEST(a_name_in_use_is_left_alone),
		STORE_TEST(a_tree_comes_back_with_its_directories),
		STORE_TEST(a_directory_in_the_way_is_no_disaster),
		STORE_TEST(a_dry_run_only_tells),
		STORE_TEST(paths_out_of_the_namespace_are_refused),
		STORE_TEST(what_was_deleted_before_a_moment_expires),
		STORE_TEST(what_is_published_keeps_its_inode_number),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
