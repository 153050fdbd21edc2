/* SPDX-License-Identifier: Apache-2.0 */
/* Many threads, and two mounts, publish and read the same few names. */
#include <errno.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/resource.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "tests/unit/store_fixture.h"

enum { THREADS = 4, NAMES = 3, ROUNDS = 60, SEEDS = 20 };

/* cmocka's assertions are for its own thread only; others count. */
struct team {
	const struct fixture *f;
	struct store *stores[2];
	atomic_uint next;
	atomic_bool stop;
	atomic_uint wrong;
	atomic_uint missed;
};

static void name_of(unsigned number, char name[16])
{
	snprintf(name, 16, "file%u", number % NAMES);
}

static void *write_names(void *argument)
{
	struct team *team = argument;
	unsigned number = atomic_fetch_add(&team->next, 1);

	for (unsigned i = 0; i < ROUNDS; i++) {
		AUTO_FREE uint8_t *bytes = NULL;
		struct version *v;
		char name[16];
		size_t size;

		bytes = told_content((number * 7 + i) % SEEDS, &size);
		name_of(i, name);
		if (try_publish(team->stores[number % 2], name, bytes, size,
				&v) == 0)
			version_put(v);
		else
			atomic_fetch_add(&team->wrong, 1);
	}
	return NULL;
}

static void read_version(struct team *team, struct store *store,
			 struct version *v)
{
	size_t size = version_meta(v)->size;
	AUTO_FREE uint8_t *bytes = malloc(size + 1);
	uint64_t seed;
	ssize_t got = version_read(store, v, 0, bytes, size);

	if (got == -EIO)
		atomic_fetch_add(&team->missed, 1);
	else if (got != (ssize_t)size || !is_told_content(bytes, size, &seed))
		atomic_fetch_add(&team->wrong, 1);
}

static void *read_names(void *argument)
{
	struct team *team = argument;
	unsigned number = atomic_fetch_add(&team->next, 1);
	struct store *store = team->stores[number % 2];

	for (unsigned i = 0; !atomic_load(&team->stop); i++) {
		int refs = store_refs(store);
		struct version *v;
		char name[16];
		int err;

		name_of(i, name);
		err = version_load(store, refs, name, &v);
		if (!err) {
			err = version_verify(store, v, refs, name);
			if (!err)
				read_version(team, store, v);
			version_is_current(v, refs, name);
			version_put(v);
		}
		if (err == -ENOENT)
			atomic_fetch_add(&team->missed, 1);
		else if (err)
			atomic_fetch_add(&team->wrong, 1);
	}
	return NULL;
}

static void *delete_packs(void *argument)
{
	const struct timespec pause = { .tv_nsec = 3000000 };
	struct team *team = argument;
	char path[PACK_NAME_SIZE];

	while (!atomic_load(&team->stop)) {
		if (any_pack(team->f, path))
			remove_file(team->f, path);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void run_team(struct team *team, bool deleting)
{
	pthread_t writers[THREADS];
	pthread_t others[THREADS + 1];
	size_t count = THREADS + (deleting ? 1 : 0);

	for (size_t i = 0; i < THREADS; i++)
		assert_int_equal(
			pthread_create(&writers[i], NULL, write_names, team),
			0);
	for (size_t i = 0; i < count; i++)
		assert_int_equal(
			pthread_create(&others[i], NULL,
				       i < THREADS ? read_names : delete_packs,
				       team),
			0);
	for (size_t i = 0; i < THREADS; i++)
		pthread_join(writers[i], NULL);
	atomic_store(&team->stop, true);
	for (size_t i = 0; i < count; i++)
		pthread_join(others[i], NULL);
}

static void publish_all(struct store *store)
{
	for (unsigned i = 0; i < NAMES; i++) {
		AUTO_FREE uint8_t *bytes = NULL;
		uint64_t seed;
		char name[16];
		size_t size;

		bytes = told_content(i, &size);
		name_of(i, name);
		publish(store, name, bytes, size);
		assert_int_equal(try_read_told(store, name, &seed), 0);
		assert_int_equal(seed, i);
	}
}

static void readers_see_whole_versions_while_writers_publish(void **state)
{
	struct fixture *f = *state;
	struct team team = { .f = f, .stores = { f->store, fixture_open(f) } };

	publish_all(f->store);
	run_team(&team, false);
	assert_int_equal(team.wrong, 0);
	assert_int_equal(team.missed, 0);
	assert_int_equal(measured(f->store).quarantined, 0);
	publish_all(team.stores[1]);
	store_close(team.stores[1]);
}

static void packs_that_vanish_meanwhile_are_misses(void **state)
{
	struct fixture *f = *state;
	struct team team = { .f = f, .stores = { f->store, fixture_open(f) } };

	publish_all(f->store);
	run_team(&team, true);
	assert_int_equal(team.wrong, 0);
	publish_all(f->store);
	publish_all(team.stores[1]);
	store_close(team.stores[1]);
}

static void *publish_second(void *argument)
{
	struct team *team = argument;
	struct version *v;

	atomic_fetch_add(&team->next, 1);
	while (atomic_load(&team->next) < 2)
		;
	if (try_publish(team->stores[0], "file", "second", 6, &v) == 0)
		version_put(v);
	return NULL;
}

/* Moving the damaged file away must not take the new one with it. */
static void a_file_that_replaces_a_damaged_one_stays(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);

	for (unsigned i = 0; i < 500; i++) {
		struct team team = { .f = f, .stores = { f->store } };
		pthread_t thread;
		struct version *v;

		assert_int_equal(try_publish(f->store, "file", "first", 5, &v),
				 0);
		assert_int_equal(
			pthread_create(&thread, NULL, publish_second, &team),
			0);
		atomic_fetch_add(&team.next, 1);
		while (atomic_load(&team.next) < 2)
			;
		for (unsigned spin = 0; spin < i * 100; spin++)
			atomic_load(&team.stop);
		assert_int_equal(
			version_quarantine(f->store, v, refs, "file", "a test"),
			0);
		pthread_join(thread, NULL);
		version_put(v);
		assert_reads(f->store, "file", "second", 6);
	}
}

static void more_packs_than_descriptors_are_read(void **state)
{
	enum { FILES = 600 };
	struct fixture *f = *state;
	uint8_t bytes[3000];

	for (unsigned round = 0; round < 3; round++)
		for (unsigned i = 0; i < FILES; i++) {
			char name[16];

			snprintf(name, sizeof(name), "file%u", i);
			fill(bytes, sizeof(bytes), i, 256);
			if (round == 0)
				publish(f->store, name, bytes, sizeof(bytes));
			assert_reads(f->store, name, bytes, sizeof(bytes));
		}
	assert_int_equal(measured(f->store).packs, FILES);
	fill(bytes, sizeof(bytes), 5, 256);
	publish(f->store, "again", bytes, sizeof(bytes));
	assert_int_equal(measured(f->store).packs, FILES);
}

static void publish_and_read(struct store *store, unsigned number, bool read)
{
	uint8_t bytes[3000];
	char name[16];

	snprintf(name, sizeof(name), "file%u", number);
	fill(bytes, sizeof(bytes), number, 256);
	if (read)
		assert_reads(store, name, bytes, sizeof(bytes));
	else
		publish(store, name, bytes, sizeof(bytes));
}

static void packs_are_closed_when_descriptors_run_out(void **state)
{
	enum { FILES = 20 };
	struct fixture *f = *state;
	int taken[1024];
	size_t count = 0;

	for (unsigned i = 0; i < FILES; i++)
		publish_and_read(f->store, i, false);
	fixture_reopen(f);
	for (unsigned i = 0; i + 1 < FILES; i++)
		publish_and_read(f->store, i, true);
	while (count < 1024 && (taken[count] = dup(0)) >= 0)
		count++;
	publish_and_read(f->store, FILES - 1, true);
	close(taken[--count]); /* for the content */
	for (unsigned i = 0; i < FILES; i++)
		publish_and_read(f->store, i, true);
	publish_and_read(f->store, FILES, false);
	for (size_t i = 0; i < count; i++)
		close(taken[i]);
	assert_true(count < 1024);
}

/* cmocka runs the tests in one process: the limit holds for all of them. */
static int few_descriptors(void **state)
{
	const struct rlimit limit = { .rlim_cur = 256, .rlim_max = 256 };

	(void)state;
	return setrlimit(RLIMIT_NOFILE, &limit);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(readers_see_whole_versions_while_writers_publish),
		TEST(packs_that_vanish_meanwhile_are_misses),
		TEST(a_file_that_replaces_a_damaged_one_stays),
		TEST(packs_are_closed_when_descriptors_run_out),
		TEST(more_packs_than_descriptors_are_read),
	};

	return cmocka_run_group_tests(tests, few_descriptors, NULL);
}
