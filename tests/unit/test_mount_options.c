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
	char why[512];
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

/* mount(8) says suid and dev by itself. */
static void what_would_elevate_is_not_passed_on(void **state)
{
	struct parsed p = parse((const char *const[]){
		"s", "m", "-o", "suid,dev,auto_unmount,exec", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_true(p.o.auto_unmount);
	assert_int_equal(p.args.argc, 3);
	assert_string_equal(p.args.argv[2], "exec");
	parsed_free(&p);
}

static void last_of_ro_and_rw_counts(void **state)
{
	struct parsed none = parse((const char *const[]){ "s", "m", NULL });
	struct parsed ro =
		parse((const char *const[]){ "s", "m", "-o", "rw,ro", NULL });
	struct parsed rw = parse((const char *const[]){ "s", "m", "-o", "ro",
							"-o", "rw", NULL });

	(void)state;
	assert_false(none.o.read_only);
	assert_true(ro.o.read_only);
	assert_false(rw.o.read_only);
	assert_int_equal(ro.args.argc, 1);
	parsed_free(&none);
	parsed_free(&ro);
	parsed_free(&rw);
}

static void deletes_are_shared_unless_private(void **state)
{
	struct parsed none = parse((const char *const[]){ "s", "m", NULL });
	struct parsed shared = parse((const char *const[]){
		"s", "m", "-o", "deletes=shared", NULL });
	struct parsed private = parse((const char *const[]){
		"s", "m", "-o", "deletes=private", NULL });

	(void)state;
	assert_false(none.o.private_deletes);
	assert_int_equal(shared.err, 0);
	assert_false(shared.o.private_deletes);
	assert_int_equal(private.err, 0);
	assert_true(private.o.private_deletes);
	parsed_free(&none);
	parsed_free(&shared);
	parsed_free(&private);
}

static void namespace_may_be_given(void **state)
{
	struct parsed p = parse((const char *const[]){
		"-o", "namespace=cann8.1.RC1-py3.11", "s", "m", NULL });
	struct parsed none = parse((const char *const[]){ "s", "m", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_string_equal(p.o.space, "cann8.1.RC1-py3.11");
	assert_null(none.o.space);
	parsed_free(&p);
	parsed_free(&none);
}

static void names_that_are_no_namespace_are_refused(void **state)
{
	static char longest[sizeof("namespace=") + 256] = "namespace=";
	const char *const refused[] = { "namespace=",	"namespace=.",
					"namespace=..", "namespace=a/b",
					"namespace=/",	longest };

	(void)state;
	memset(longest + strlen(longest), 'x', 256);
	for (size_t i = 0; i < sizeof(refused) / sizeof(refused[0]); i++) {
		struct parsed p = parse((const char *const[]){
			"s", "m", "-o", refused[i], NULL });

		assert_int_equal(p.err, -EINVAL);
		assert_non_null(strstr(p.why, "a namespace has 1 to 255"));
		parsed_free(&p);
	}
}

static void users_to_trust_may_be_given(void **state)
{
	struct parsed p = parse(
		(const char *const[]){ "-o", "trust=7:root:8,nosuid", "-o",
				       "trust=9,10", "s", "m", NULL });

	(void)state;
	assert_int_equal(p.err, 0);
	assert_int_equal(p.o.trust.count, 5);
	assert_int_equal(p.o.trust.users[0], 7);
	assert_int_equal(p.o.trust.users[1], 0);
	assert_int_equal(p.o.trust.users[2], 8);
	assert_int_equal(p.o.trust.users[3], 9);
	assert_int_equal(p.o.trust.users[4], 10);
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
		{ { "s", "m", "-o", "deletes=no", NULL },
		  "deletes=no: \"shared\" or \"private\" is expected" },
		{ { "-o", "on_full=wait", "s", "m", NULL },
		  "on_full=wait: \"fail\" or \"drop\" is expected" },
		{ { "s", "m", "-o", "max_bytes=5%", NULL },
		  "max_bytes=5% is not a size, such as 512M or 10G" },
		{ { "s", "m", "-o", "min_free=lots", NULL },
		  "min_free=lots is neither a size, such as 512M or 10G, nor a "
		  "percentage, such as 5%" },
		{ { "s", "m", "-o", "namespace=..", NULL },
		  "namespace=..: a namespace has 1 to 255 bytes, no \"/\", and "
		  "is neither \".\" nor \"..\"" },
	};

	(void)state;
	for (size_t i = 0; i < sizeof(cases) / sizeof(cases[0]); i++) {
		struct parsed p = parse(cases[i].arguments);

		assert_int_equal(p.err, -EINVAL);
		assert_string_equal(p.why, cases[i].why);
		parsed_free(&p);
	}
}

static void bounds_may_be_given(void **state)
{
	struct parsed none = parse((const char *const[]){ "s", "m", NULL });
	struct parsed both = parse((const char *const[]){
		"s", "m", "-o", "max_bytes=10G,min_free=5%", NULL });

	(void)state;
	assert_false(none.o.has_max_bytes);
	assert_int_equal(share_of(&none.o.min_free, 1000), 0);
	assert_true(both.o.has_max_bytes);
	assert_int_equal(both.o.max_bytes, UINT64_C(10) << 30);
	assert_int_equal(share_of(&both.o.min_free, 1000), 50);
	parsed_free(&none);
	parsed_free(&both);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(store_and_mount_point_are_taken_in_order),
		cmocka_unit_test(owner_may_be_given),
		cmocka_unit_test(what_would_elevate_is_not_passed_on),
		cmocka_unit_test(last_of_ro_and_rw_counts),
		cmocka_unit_test(deletes_are_shared_unless_private),
		cmocka_unit_test(namespace_may_be_given),
		cmocka_unit_test(names_that_are_no_namespace_are_refused),
		cmocka_unit_test(users_to_trust_may_be_given),
		cmocka_unit_test(a_limit_may_be_given),
		cmocka_unit_test(bounds_may_be_given),
		cmocka_unit_test(wrong_arguments_are_named),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
