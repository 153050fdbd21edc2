/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/scratch.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>

#include <cmocka.h>

#include "tests/unit/store_fixture.h"

static uint64_t size_of(const struct scratch *s)
{
	uint64_t size = UINT64_MAX;

	assert_int_equal(scratch_size(s, &size), 0);
	return size;
}

static struct scratch *new_scratch(void **state)
{
	const struct fixture *f = *state;
	struct scratch *s = scratch_new(f->store, false);

	assert_non_null(s);
	return s;
}

static void empty_content_has_no_descriptor(void **state)
{
	struct scratch *s = new_scratch(state);
	struct scratch_view view;
	char byte;

	assert_int_equal(size_of(s), 0);
	assert_int_equal(scratch_fd(s), -1);
	assert_int_equal(scratch_read(s, 0, &byte, 1), 0);
	assert_int_equal(scratch_resize(s, 0), 0);
	assert_int_equal(scratch_fd(s), -1);
	assert_int_equal(scratch_map(s, &view), 0);
	assert_int_equal(view.size, 0);
	scratch_unmap(&view);
	scratch_free(s);
}

static void holes_read_as_zeros(void **state)
{
	struct scratch *s = new_scratch(state);
	char bytes[6];

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
	struct scratch *s = new_scratch(state);

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
	assert_int_equal(scratch_copy(f->store, false, v, &s), 0);
	assert_int_equal(scratch_map(s, &view), 0);
	assert_int_equal(view.size, SIZE);
	assert_memory_equal(view.bytes, bytes, SIZE);
	scratch_unmap(&view);
	scratch_free(s);
	version_put(v);
	free(bytes);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(empty_content_has_no_descriptor),
		cmocka_unit_test(holes_read_as_zeros),
		cmocka_unit_test(size_beyond_what_a_file_can_have_is_refused),
		cmocka_unit_test(copy_has_every_byte_of_the_version),
	};

	return cmocka_run_group_tests(tests, fixture_setup, fixture_teardown);
}
