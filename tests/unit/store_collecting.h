/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_STORE_COLLECTING_H
#define TACFS_TESTS_UNIT_STORE_COLLECTING_H

/* What the tests of deleting and collecting do with a fixture's store. */

#include "fs/store/collect.h"
#include "tests/unit/store_fixture.h"

/* A test with a fixture; needs cmocka.h. */
#define STORE_TEST(name)                                                       \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

/* Both halves at once, and nothing that was deleted is kept. */
extern const struct collect_options collect_all;

/* Collects, which must succeed. */
struct collect_result collected(struct store *store,
				const struct collect_options *options);

/* How many files lie at any depth below a directory of the store. */
size_t count_below(const struct fixture *f, const char *path);

#endif
