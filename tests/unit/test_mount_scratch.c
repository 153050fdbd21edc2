/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/scratch.h"

#include <dirent.h>
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

#include "tests/unit/store_fixture.h"

static uint64_t size_of(struct scratch *s)
{
	uint64_t size = UINT64_MAX;

	assert_int_equal(scratch_size(s, &size), 0);
	return size;
}

static struct scratches all;

static int set_up(void **state)
{
	const struct fixture *f;

	if (fixture_setup(state))
		return -1;
	f = *state;
	return scratches_init(&all, f->store);
}

static int tear_down(void **state)
{
	scratches_free(&all);
	return fixture_teardown(state);
}

static struct scratch *new_scratch(void)
{
	struct scratch *s = scratch_new(&all);

	assert_non_null(s);
	return s;
}

static void empty_content_has_no_descriptor(void **state)
{
	struct scratch *s = new_scratch();
	struct scratch_view view;
	char byte;

	(void)state;
	assert_int_equal(size_of(s), 0);
	assert_int_equal(scratch_begin(s), -ENODATA);
	assert_int_equal(scratch_read(s, 0, &byte, 1), 0);
	assert_int_equal(scratch_resize(s, 0), 0);
	assert_int_equal(scratch_begin(s), -ENODATA);
	assert_int_equal(scratch_map(s, &view), 0);
	assert_int_equal(view.size, 0);
	scratch_unmap(&view);
	scratch_free(s);
}

static void holes_read_as_zeros(void **state)
{
	struct scratch *s = new_scratch();
	char bytes[6];

	(void)state;
	assert_int_equal(scratch_write(s, 4, "ab", 2), 0);
	assert_int_equal(size_of(s), 6);
	assert_int_equal(scratch_read(s, 0, bytes, sizeof(bytes)), 6);
	assert_memory_equal(bytes, "\0\0\0\0ab", 6);
	assert_int_equal(scratch_resize(s, 5), 0);
	assert_int_equal(scratch_read(s, 4, bytes, sizeof(bytes)), 1);
	assert_int_equal(scratch_read(s, 9, bytes, sizeof(bytes)), 0);
	scratch_free(s);
}

static void size_beyond_what_a_file_can_have_is_refused(void **state)
{
	struct scratch *s = new_scratch();

	(void)state;
	assert_int_equal(scratch_resize(s, UINT64_MAX), -EFBIG);
	assert_int_equal(size_of(s), 0);
	scratch_free(s);
}

static void copy_has_every_byte_of_the_version(void **state)
{
	enum { SIZE = 3000000 };
	struct fixture *f = *state;
	uint8_t *bytes = malloc(SIZE);
	struct version *v = NULL;
	struct scratch *s = NULL;
	struct scratch_view view;

	assert_non_null(bytes);
	fill(bytes, SIZE, 1, 256);
	assert_int_equal(try_publish(f->store, "file", bytes, SIZE, &v), 0);
	assert_int_equal(scratch_copy(&all, v, &s), 0);
	assert_int_equal(scratch_map(s, &view), 0);
	assert_int_equal(view.size, SIZE);
	assert_memory_equal(view.bytes, bytes, SIZE);
	scratch_unmap(&view);
	scratch_free(s);
	version_put(v);
	free(bytes);
}

/* How many files there are in tmp/, and how many of them are open. */
static size_t named(const struct fixture *f)
{
	int fd = dup(store_tmp(f->store));
	DIR *stream = fdopendir(fd);
	size_t count = 0;

	assert_non_null(stream);
	rewinddir(stream);
	for (struct dirent *e = readdir(stream); e; e = readdir(stream))
		count += e->d_name[0] != '.';
	closedir(stream);
	return count;
}

static void more_content_than_descriptors(void **state)
{
	enum { COUNT = 20, LIMIT = 3 };
	struct scratch *many[COUNT];
	uint64_t seen;

	all.spills.limit = LIMIT;
	for (uint64_t i = 0; i < COUNT; i++) {
		many[i] = new_scratch();
		assert_int_equal(scratch_write(many[i], 0, &i, sizeof(i)), 0);
		assert_true(all.spills.open <= LIMIT);
	}
	assert_int_equal(named(*state), COUNT - LIMIT);
	spills_touch(&all.spills);
	for (uint64_t i = 0; i < COUNT; i++) {
		assert_int_equal(scratch_read(many[i], 0, &seen, sizeof(seen)),
				 sizeof(seen));
		assert_int_equal(seen, i);
		assert_int_equal(scratch_write(many[i], 8, &i, sizeof(i)), 0);
		assert_int_equal(size_of(many[i]), 16);
		assert_true(all.spills.open <= LIMIT);
	}
	for (uint64_t i = 0; i < COUNT; i++)
		scratch_free(many[i]);
	assert_int_equal(named(*state), 0);
	assert_int_equal(all.spills.open, 0);
}

/* Even if that is too many. */
static void content_in_use_stays_open(void **state)
{
	enum { COUNT = 5 };
	struct scratch *many[COUNT];
	int fds[COUNT];
	char byte;

	(void)state;
	all.spills.limit = 1;
	for (int i = 0; i < COUNT; i++) {
		many[i] = new_scratch();
		assert_int_equal(scratch_write(many[i], 0, &"abcde"[i], 1), 0);
		fds[i] = scratch_begin(many[i]);
		assert_true(fds[i] >= 0);
	}
	for (int i = 0; i < COUNT; i++) {
		assert_int_equal(pread(fds[i], &byte, 1, 0), 1);
		assert_int_equal(byte, "abcde"[i]);
		scratch_end(many[i]);
		scratch_free(many[i]);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_content_has_no_descriptor),
		cmocka_unit_test(holes_read_as_zeros),
		cmocka_unit_test(size_beyond_what_a_file_can_have_is_refused),
		cmocka_unit_test(copy_has_every_byte_of_the_version),
		cmocka_unit_test(more_content_than_descriptors),
		cmocka_unit_test(content_in_use_stays_open),
	};

	return cmocka_run_group_tests(tests, set_up, tear_down);
}
