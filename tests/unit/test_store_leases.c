/* SPDX-License-Identifier: Apache-2.0 */
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdlib.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/collect.h"
#include "fs/store/leases.h"
#include "fs/store/state.h"
#include "fs/store/version.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 200000 };

static struct version *hold(struct store *store, const char *name)
{
	int dir = store_refs(store);
	struct version *v;

	assert_int_equal(version_load(store, dir, name, &v), 0);
	assert_int_equal(version_verify(store, v, dir, name), 0);
	assert_int_equal(version_hold(store, v), 0);
	return v;
}

static void let_go(struct store *store, struct version *v)
{
	version_let_go(store, v);
	version_put(v);
}

/* As another host does. Whether a pack is left. */
static bool collect(const struct fixture *f)
{
	const struct collect_options options = {
		.intents = COLLECT_INTENT_SECONDS
	};
	struct store *other = fixture_open(f);
	struct collect_result result;
	char path[PACK_NAME_SIZE];

	assert_int_equal(store_collect(other, &options, &result), 0);
	store_close(other);
	return first_pack(f, path);
}

static struct version *hold_deleted(const struct fixture *f, bool kept)
{
	AUTO_FREE uint8_t *bytes = malloc(SIZE);
	struct version *v;

	assert_non_null(bytes);
	fill(bytes, SIZE, 1, 256);
	publish(f->store, "file", bytes, SIZE);
	f->store->keeps_names = kept;
	v = hold(f->store, "file");
	assert_int_equal(unlinkat(store_refs(f->store), "file", 0), 0);
	return v;
}

static void what_is_open_for_long_is_not_collected(void **state)
{
	struct fixture *f = *state;
	struct version *v = hold_deleted(f, true);

	for (int i = 0; i < 3; i++) {
		leases_renew(f->store, 0);
		assert_true(collect(f));
	}
	let_go(f->store, v);
	assert_false(collect(f));
}

static void a_lease_that_somebody_took_away_is_laid_again(void **state)
{
	struct fixture *f = *state;
	struct version *v = hold_deleted(f, true);

	leases_renew(f->store, 0);
	assert_int_equal(
		unlinkat(f->store->intents, f->store->leases.newest->name, 0),
		0);
	leases_renew(f->store, 0);
	assert_true(collect(f));
	let_go(f->store, v);
	assert_false(collect(f));
}

static void what_was_just_opened_has_nothing_laid_for_it(void **state)
{
	struct fixture *f = *state;
	struct version *v = hold_deleted(f, true);

	leases_renew(f->store, LEASE_SECONDS);
	assert_false(collect(f));
	let_go(f->store, v);
}

static void where_open_files_stay_nothing_is_laid(void **state)
{
	struct fixture *f = *state;
	struct version *v = hold_deleted(f, false);

	leases_renew(f->store, 0);
	assert_false(collect(f));
	let_go(f->store, v);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(what_is_open_for_long_is_not_collected),
		TEST(a_lease_that_somebody_took_away_is_laid_again),
		TEST(what_was_just_opened_has_nothing_laid_for_it),
		TEST(where_open_files_stay_nothing_is_laid),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
