/* SPDX-License-Identifier: Apache-2.0 */
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <string.h>

#include <cmocka.h>

#include "fs/store/pack_set.h"

enum { MANY = 5000 };

static struct digest id_of(size_t number)
{
	return digest_of(&number, sizeof(number));
}

static void an_empty_set_has_nothing(void **state)
{
	struct pack_set set = { .places = NULL };
	struct digest id = id_of(1);

	(void)state;
	assert_int_equal(pack_set_marks(&set, &id), 0);
	assert_int_equal(pack_set_count(&set, PACK_IS_THERE, 0), 0);
	pack_set_free(&set);
}

static void marks_add_up_and_outlive_growth(void **state)
{
	struct pack_set set = { .places = NULL };

	(void)state;
	for (size_t i = 0; i < MANY; i++) {
		struct digest id = id_of(i);

		assert_int_equal(pack_set_mark(&set, &id, PACK_IS_THERE), 0);
		if (i % 5 == 0)
			assert_int_equal(pack_set_mark(&set, &id, PACK_IS_USED),
					 0);
	}
	for (size_t i = 0; i < MANY; i++) {
		struct digest id = id_of(i);

		assert_int_equal(pack_set_marks(&set, &id),
				 i % 5 ? PACK_IS_THERE
				       : PACK_IS_THERE | PACK_IS_USED);
	}
	assert_int_equal(pack_set_count(&set, PACK_IS_THERE, PACK_IS_THERE),
			 MANY);
	assert_int_equal(pack_set_count(&set, PACK_IS_THERE | PACK_IS_USED,
					PACK_IS_THERE),
			 MANY / 5 * 4);
	pack_set_free(&set);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(an_empty_set_has_nothing),
		cmocka_unit_test(marks_add_up_and_outlive_growth),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
