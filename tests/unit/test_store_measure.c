/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "tests/unit/store_fixture.h"

static void an_empty_store_holds_nothing(void **state)
{
	struct fixture *f = *state;
	struct store_measures m = measured(f->store);

	assert_int_equal(m.files, 0);
	assert_int_equal(m.directories, 0);
	assert_int_equal(m.packs, 0);
	assert_int_equal(m.stored_bytes, file_size(f, "FORMAT"));
	assert_true(m.allocated_bytes >= m.stored_bytes);
}

static void what_is_in_a_store_is_counted(void **state)
{
	enum { SIZE = 200000 };
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = malloc(SIZE);
	char path[PACK_NAME_SIZE];
	struct store_measures m;
	size_t manifests;

	fill(bytes, SIZE, 1, 4);
	assert_int_equal(mkdirat(store_refs(f->store), "dir", 0700), 0);
	assert_int_equal(symlinkat("dir", store_refs(f->store), "link"), 0);
	publish(f->store, "one", bytes, SIZE);
	publish(f->store, "two", bytes, SIZE);
	publish(f->store, "dir/small", "abc", 3);
	assert_true(first_pack(f, path));
	manifests = file_size(f, "refs/default/one") +
		    file_size(f, "refs/default/two") +
		    file_size(f, "refs/default/dir/small");
	m = measured(f->store);
	assert_int_equal(m.files, 3);
	assert_int_equal(m.directories, 1);
	assert_int_equal(m.file_bytes, 2 * SIZE + 3);
	assert_int_equal(m.unreadable, 0);
	assert_int_equal(m.references, 2 * m.blocks);
	assert_int_equal(m.referenced_bytes, 2 * SIZE);
	assert_int_equal(m.packs, 1);
	assert_int_equal(m.pack_bytes, file_size(f, path));
	assert_int_equal(m.block_bytes, SIZE);
	assert_in_range(m.block_stored_bytes, SIZE / 8, SIZE / 2);
	assert_int_equal(m.manifest_bytes, manifests);
	assert_int_equal(m.stored_bytes, file_size(f, "FORMAT") + manifests +
						 file_size(f, path));
}

/* Counting judges nothing: what is damaged stays where it is. */
static void what_cannot_be_read_is_counted_apart(void **state)
{
	struct fixture *f = *state;
	struct store_measures m;

	publish(f->store, "good", "abc", 3);
	publish(f->store, "bad", "abc", 3);
	flip_byte(f, "refs/default/bad", 20);
	m = measured(f->store);
	assert_int_equal(m.files, 1);
	assert_int_equal(m.unreadable, 1);
	assert_int_equal(m.quarantined, 0);
	assert_true(file_exists(f, "refs/default/bad"));
	assert_int_not_equal(try_read(f->store, "bad", "abc", 3), 0);
	m = measured(f->store);
	assert_int_equal(m.unreadable, 0);
	assert_int_equal(m.quarantined, 1);
}

static void all_namespaces_are_counted(void **state)
{
	const struct store_config config = { .space = "other" };
	struct fixture *f = *state;
	struct store *other;
	char why[256];

	assert_int_equal(store_open(f->path, &config, &other, why, sizeof(why)),
			 0);
	publish(f->store, "file", "abc", 3);
	publish(other, "file", "abc", 3);
	assert_int_equal(measured(f->store).files, 2);
	assert_int_equal(measured(other).files, 2);
	assert_int_equal(measured(other).directories, 0);
	store_close(other);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(an_empty_store_holds_nothing),
		TEST(what_is_in_a_store_is_counted),
		TEST(what_cannot_be_read_is_counted_apart),
		TEST(all_namespaces_are_counted),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
