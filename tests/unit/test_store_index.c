/* SPDX-License-Identifier: Apache-2.0 */
/* What a store that stays open for long remembers of packs that come and go. */
#include "fs/store/block_index.h"

#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/fd.h"
#include "fs/store/state.h"
#include "tests/unit/store_collecting.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 60000, MANY = 100, ROUNDS = 4, SLOTS = 1024 };

static void publish_noise(struct store *store, const char *name, uint64_t seed)
{
	uint8_t bytes[SIZE];

	fill(bytes, SIZE, seed, 256);
	publish(store, name, bytes, SIZE);
}

/* Each file is a pack of its own, and soon gone. */
static void churn(struct store *store, uint64_t seed)
{
	char name[16];

	for (uint64_t i = 0; i < MANY; i++) {
		snprintf(name, sizeof(name), "file%u", (unsigned)i);
		publish_noise(store, name, seed + i);
		assert_int_equal(unlinkat(store_refs(store), name, 0), 0);
	}
	collected(store, &collect_all);
}

static void packs_that_are_gone_are_forgotten(void **state)
{
	const struct fixture *f = *state;
	struct block_index *index = &f->store->index;

	for (uint64_t round = 1; round <= ROUNDS; round++)
		churn(f->store, 1000 * round);
	assert_int_equal(block_index_refresh(f->store, false), 0);
	assert_true(index->pack_count < MANY / 2);
	assert_true(index->slot_count <= SLOTS);
}

static void those_that_are_there_are_not(void **state)
{
	const struct fixture *f = *state;

	publish_noise(f->store, "kept", 1);
	for (uint64_t round = 1; round <= ROUNDS; round++)
		churn(f->store, 1000 * round);
	publish_noise(f->store, "equal", 1);
	assert_int_equal(count_below(f, "packs"), 1);
}

static void one_that_comes_back_is_known_again(void **state)
{
	const struct fixture *f = *state;
	struct block_index *index = &f->store->index;
	struct store *other = fixture_open(f);

	for (uint64_t round = 1; round <= ROUNDS; round++)
		churn(f->store, 1000 * round);
	assert_int_equal(block_index_refresh(f->store, false), 0);
	size_t count = index->pack_count;

	publish_noise(other, "again", 1000);
	store_close(other);
	publish_noise(f->store, "equal", 1000);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_int_equal(index->pack_count, count + 1);
}

/* Its publisher is about to give it its content: it is not damaged. */
static void a_name_that_is_claimed_is_left(void **state)
{
	static const char name[] = "00/00112233445566778899aabbccddeeff";
	const struct fixture *f = *state;
	int fd;

	assert_int_equal(mkdirat(f->store->packs, "00", 0700), 0);
	fd = openat(f->store->packs, name, O_WRONLY | O_CREAT | O_EXCL,
		    FD_CLAIM_MODE);
	assert_true(fd >= 0);
	close(fd);
	assert_int_equal(block_index_refresh(f->store, false), 0);
	publish_noise(f->store, "other", 1);
	assert_int_equal(faccessat(f->store->packs, name, F_OK, 0), 0);
	assert_int_equal(count_below(f, "quarantine"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(packs_that_are_gone_are_forgotten),
		STORE_TEST(those_that_are_there_are_not),
		STORE_TEST(one_that_comes_back_is_known_again),
		STORE_TEST(a_name_that_is_claimed_is_left),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
