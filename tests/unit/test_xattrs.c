/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>

#include "codec/xattrs.h"

/* Attributes that are changed step by step. */
struct set {
	struct writer bytes;
};

static struct xattrs all_of(const struct set *s)
{
	return (struct xattrs){ s->bytes.bytes, s->bytes.size };
}

static int change(struct set *s, const struct xattr_change *change)
{
	struct writer made = writer_upto(XATTRS_MAX);
	int err = xattrs_change(all_of(s), change, &made);

	if (err) {
		assert_int_equal(made.size, 0);
		writer_free(&made);
		return err;
	}
	writer_free(&s->bytes);
	s->bytes = made;
	assert_null(xattrs_fault(all_of(s)));
	return 0;
}

static int put(struct set *s, const char *name, const void *value, size_t size)
{
	return change(s, &(struct xattr_change){ name, value, size, 0, 0 });
}

static int drop(struct set *s, const char *name)
{
	return change(s, &(struct xattr_change){ .name = name });
}

static void assert_value(const struct set *s, const char *name,
			 const char *value)
{
	struct xattr x;

	assert_true(xattrs_find(all_of(s), name, &x));
	assert_string_equal(x.name, name);
	assert_int_equal(x.size, strlen(value));
	assert_memory_equal(x.value, value, x.size);
}

static void what_is_set_is_found(void **state)
{
	struct set s = { { 0 } };
	struct xattr x;

	(void)state;
	assert_false(xattrs_find(all_of(&s), "user.a", &x));
	assert_int_equal(put(&s, "user.b", "two", 3), 0);
	assert_int_equal(put(&s, "user.a", "", 0), 0);
	assert_int_equal(put(&s, "user.\xff\x01", "high", 4), 0);
	assert_value(&s, "user.a", "");
	assert_value(&s, "user.b", "two");
	assert_value(&s, "user.\xff\x01", "high");
	assert_int_equal(put(&s, "user.b", "another", 7), 0);
	assert_value(&s, "user.b", "another");
	assert_int_equal(drop(&s, "user.b"), 0);
	assert_false(xattrs_find(all_of(&s), "user.b", &x));
	assert_int_equal(drop(&s, "user.a"), 0);
	assert_int_equal(drop(&s, "user.\xff\x01"), 0);
	assert_int_equal(s.bytes.size, 0);
	writer_free(&s.bytes);
}

static void the_bytes_depend_on_what_is_set_alone(void **state)
{
	static const char expected[] = "user.a\0\1\0\0\0A"
				       "user.b\0\0\0\0\0"
				       "user.c\0\2\0\0\0CC";
	static const char *const orders[] = { "abc", "acb", "bca", "cba" };

	(void)state;
	for (size_t i = 0; i < 4; i++) {
		struct set s = { { 0 } };

		for (const char *c = orders[i]; *c; c++) {
			char name[] = { 'u', 's', 'e', 'r', '.', *c, 0 };

			assert_int_equal(put(&s, name, "?", 1), 0);
		}
		assert_int_equal(put(&s, "user.c", "CC", 2), 0);
		assert_int_equal(put(&s, "user.a", "A", 1), 0);
		assert_int_equal(put(&s, "user.b", "", 0), 0);
		assert_int_equal(s.bytes.size, sizeof(expected) - 1);
		assert_memory_equal(s.bytes.bytes, expected, s.bytes.size);
		writer_free(&s.bytes);
	}
}

static void they_are_walked_in_order(void **state)
{
	static const char *const names[] = { "user.1", "user.2", "user.20" };
	struct set s = { { 0 } };
	struct xattr at = { .name = NULL };

	(void)state;
	assert_false(xattrs_next(all_of(&s), &at));
	for (size_t i = 3; i-- > 0;)
		assert_int_equal(put(&s, names[i], "v", 1), 0);
	for (size_t i = 0; i < 3; i++) {
		assert_true(xattrs_next(all_of(&s), &at));
		assert_string_equal(at.name, names[i]);
	}
	assert_false(xattrs_next(all_of(&s), &at));
	writer_free(&s.bytes);
}

static void what_must_be_there_or_not_is_looked_at(void **state)
{
	struct xattr_change create = { "user.a", "1", 1, true, false };
	struct xattr_change replace = { "user.a", "2", 1, false, true };
	struct set s = { { 0 } };

	(void)state;
	assert_int_equal(drop(&s, "user.a"), -ENODATA);
	assert_int_equal(change(&s, &replace), -ENODATA);
	assert_int_equal(change(&s, &create), 0);
	assert_int_equal(change(&s, &create), -EEXIST);
	assert_value(&s, "user.a", "1");
	assert_int_equal(change(&s, &replace), 0);
	assert_value(&s, "user.a", "2");
	create.replace = true; /* as Linux: neither there nor not */
	assert_int_equal(change(&s, &create), -EEXIST);
	create.name = "user.b";
	assert_int_equal(change(&s, &create), -ENODATA);
	writer_free(&s.bytes);
}

static void only_names_of_users_are_taken(void **state)
{
	static const char *const bad[] = {
		"",	   "user",	  "user.",
		"users.a", "trusted.a",	  "security.capability",
		"User.a",  "user.tacfs.", "user.tacfs.digest",
	};
	static const char *const good[] = { "user.a", "user.tacfs", "user..",
					    "user.tacfsx" };
	char longest[257];
	struct set s = { { 0 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(put(&s, bad[i], "", 0), -EINVAL);
	for (size_t i = 0; i < sizeof(good) / sizeof(good[0]); i++)
		assert_int_equal(put(&s, good[i], "", 0), 0);
	memset(longest, 'n', sizeof(longest));
	memcpy(longest, "user.", 5);
	longest[256] = '\0';
	assert_int_equal(put(&s, longest, "", 0), -EINVAL);
	longest[255] = '\0';
	assert_int_equal(put(&s, longest, "", 0), 0);
	writer_free(&s.bytes);
}

static void values_and_all_of_them_have_limits(void **state)
{
	static uint8_t value[XATTRS_VALUE_MAX + 1];
	struct set s = { { 0 } };
	char name[16];
	int err = 0;
	int count = 0;

	(void)state;
	assert_int_equal(put(&s, "user.a", value, sizeof(value)), -E2BIG);
	for (; !err; count++) {
		snprintf(name, sizeof(name), "user.%d", count);
		err = put(&s, name, value, XATTRS_VALUE_MAX);
	}
	assert_int_equal(err, -E2BIG);
	assert_int_equal(count, XATTRS_MAX / XATTRS_VALUE_MAX);
	assert_int_equal(put(&s, "user.0", "", 0), 0);
	assert_int_equal(put(&s, name, value, XATTRS_VALUE_MAX / 2), 0);
	writer_free(&s.bytes);
}

/* What cannot be listed would be kept for nobody. */
static void all_names_can_be_listed(void **state)
{
	struct set s = { { 0 } };
	char name[256];
	size_t listed = 0;
	int err;

	(void)state;
	do {
		snprintf(name, sizeof(name), "user.%0250zu", listed);
		err = put(&s, name, "", 0);
		if (!err)
			listed += strlen(name) + 1;
	} while (!err);
	assert_int_equal(err, -E2BIG);
	assert_int_equal(listed, XATTRS_LIST_MAX);
	writer_free(&s.bytes);
}

static void what_no_writer_makes_is_refused(void **state)
{
	static const struct {
		const char *bytes;
		size_t size;
	} bad[] = {
		{ "user.a", 6 },	    /* no end of the name */
		{ "user.a\0\0\0\0", 10 },   /* no whole size */
		{ "user.a\0\1\0\0\0", 11 }, /* no value */
		{ "user.a\0\0\0\0\0user.a\0\0\0\0", 22 }, /* twice */
		{ "user.b\0\0\0\0\0user.a\0\0\0\0", 22 },
		{ "\0\0\0\0", 5 },
		{ "user.a\0\0\0\0\0x", 12 },
		{ "user.a\0\xff\xff\xff\xff", 11 },
	};

	(void)state;
	assert_null(xattrs_fault((struct xattrs){ NULL, 0 }));
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++) {
		struct xattrs all = { (const uint8_t *)bad[i].bytes,
				      bad[i].size };

		assert_non_null(xattrs_fault(all));
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(what_is_set_is_found),
		cmocka_unit_test(the_bytes_depend_on_what_is_set_alone),
		cmocka_unit_test(they_are_walked_in_order),
		cmocka_unit_test(what_must_be_there_or_not_is_looked_at),
		cmocka_unit_test(only_names_of_users_are_taken),
		cmocka_unit_test(values_and_all_of_them_have_limits),
		cmocka_unit_test(all_names_can_be_listed),
		cmocka_unit_test(what_no_writer_makes_is_refused),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
