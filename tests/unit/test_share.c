/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/share.h"

#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>

#include <cmocka.h>

#include "fs/size.h"

static void sizes_have_units(void **state)
{
	uint64_t size;

	(void)state;
	assert_int_equal(size_parse("0", &size), 0);
	assert_int_equal(size, 0);
	assert_int_equal(size_parse("100M", &size), 0);
	assert_int_equal(size, 100 << 20);
	assert_int_equal(size_parse("3T", &size), 0);
	assert_int_equal(size, UINT64_C(3) << 40);
	assert_int_equal(size_parse("M", &size), -EINVAL);
	assert_int_equal(size_parse("1MB", &size), -EINVAL);
	assert_int_equal(size_parse("-1", &size), -EINVAL);
	assert_int_equal(size_parse("99999999999T", &size), -EINVAL);
}

static void a_share_is_a_size_or_a_percentage(void **state)
{
	struct share share;

	(void)state;
	assert_int_equal(share_parse("2G", &share), 0);
	assert_int_equal(share_of(&share, 1000), UINT64_C(2) << 30);
	assert_int_equal(share_parse("5%", &share), 0);
	assert_int_equal(share_of(&share, 1000), 50);
	assert_int_equal(share_parse("100%", &share), -EINVAL);
	assert_int_equal(share_parse("%", &share), -EINVAL);
	assert_int_equal(share_parse("5%%", &share), -EINVAL);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(sizes_have_units),
		cmocka_unit_test(a_share_is_a_size_or_a_percentage),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
