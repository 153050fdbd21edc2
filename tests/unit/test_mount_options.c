/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/options.h"

#include <errno.h>
#include <fuse_opt.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <string.h>
#include <unistd.h>

#include <cmocka.h>

enum { ARGUMENTS_MAX = 8 };

/* One parse of arguments that end with NULL. */
struct parsed {
	struct mount_options o;
	struct fuse_args args;
	char why[256];
	int err;
};

static struct parsed parse(const char *const *arguments)
{
	struct parsed p;
	char *argv[ARGUMENTS_MAX];
	int argc = 0;

	for (; arguments[argc]; argc++)
		argv[argc] = strdup(arguments[argc]);
	p.err = mount_options_parse(argc, argv, &p.o, &p.args, p.why,
				    sizeof(p.why));
	while (argc)
		free(argv[--argc]);
	return p;
}

static void parsed_free(struct parsed *p)
{
	fuse_opt_free_args(&p->args);
	mount_options_free(&p->o);
}

static void store_and_mount_point_are_taken_in_order(void **state)
{
	struct parsed p = parse((const char *const[]){ "s", "m", "-f", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_string_equal(p.o.store, "s");
	assert_string_equal(p.o.mountpoint, "m");
	assert_true(p.o.foreground);
	assert_int_equal(p.o.uid, geteuid());
	parsed_free(&p);
}

static void owner_may_be_given(void **state)
{
	struct parsed p = parse((const char *const[]){
		"-o", "uid=7,gid=8,allow_other", "s", "m", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_int_equal(p.o.uid, 7);
	assert_int_equal(p.o.gid, 8);
	parsed_free(&p);
}

static void users_to_trust_may_be_given(void **state)
{
	struct parsed p =
		parse((const char *const[]){ "-o", "trust=7:root:8,nosuid",
					     "-o", "trust=9", "s", "m", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_int_equal(p.o.trust.count, 4);
	assert_int_equal(p.o.trust.users[0], 7);
	assert_int_equal(p.o.trust.users[1], 0);
	assert_int_equal(p.o.trust.users[2], 8);
	assert_int_equal(p.o.trust.users[3], 9);
	assert_false(p.o.has_max_bytes);
	parsed_free(&p);
}

static void a_limit_may_be_given(void **state)
{
	static const struct {
		const char *text;
		uint64_t size;
	} cases[] = {
		{ "max_bytes=0", 0 },
		{ "max_bytes=512M", 512u << 20 },
		{ "max_bytes=3T", (uint64_t)3 << 40 },
		{ "max_bytes=18446744073709551615", UINT64_MAX },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse((const char *const[]){
			"-o", cases[i].text, "s", "m", NULL });

		assert_int_equal(p.err, 0);
		assert_true(p.o.has_max_bytes);
		assert_int_equal(p.o.max_bytes, cases[i].size);
		parsed_free(&p);
	}
}

static void wrong_arguments_are_named(void **state)
{
	static const struct {
		const char *arguments[ARGUMENTS_MAX];
		const char *why;
	} cases[] = {
		{ { NULL }, "the store and the mount point are missing" },
		{ { "s", NULL }, "the mount point is missing" },
		{ { "s", "m", "x", NULL }, "unexpected argument \"x\"" },
		{ { "s", "m", "-o", "nonsense", NULL },
		  "unknown option \"nonsense\"" },
		{ { "s", "m", "-z", NULL }, "unknown option \"-z\"" },
		{ { "s", "m", "-o", "uid=me", NULL },
		  "uid=me is not a number" },
		{ { "s", "m", "-o", "trust=", NULL },
		  "trust=: there is no user \"\"" },
		{ { "s", "m", "-o", "trust=1::2", NULL },
		  "trust=1::2: there is no user \"\"" },
		{ { "s", "m", "-o", "trust=1:no-such-user", NULL },
		  "trust=1:no-such-user: there is no user \"no-such-user\"" },
		{ { "s", "m", "-o", "trust=4294967295", NULL },
		  "trust=4294967295: there is no user \"4294967295\"" },
		{ { "s", "m", "-o", "max_bytes=10 G", NULL },
		  "max_bytes=10 G is not a size, such as 512M or 10G" },
		{ { "s", "m", "-o", "gid=-1", NULL },
		  "gid=-1 is not a number" },
		{ { "s", "m", "-o", "uid=4294967295", NULL },
		  "uid=4294967295 is not a number" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(cases[i].arguments);

		assert_int_equal(p.err, -EINVAL);
		assert_string_equal(p.why, cases[i].why);
		parsed_free(&p);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_and_mount_point_are_taken_in_order),
		cmocka_unit_test(owner_may_be_given),
		cmocka_unit_test(users_to_trust_may_be_given),
		cmocka_unit_test(a_limit_may_be_given),
		cmocka_unit_test(wrong_arguments_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
