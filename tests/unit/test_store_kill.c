/* SPDX-License-Identifier: Apache-2.0 */
/* A publisher that is killed at any moment leaves whole versions only. */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "tests/unit/store_fixture.h"

enum { NAMES = 4, KILLS = 60, ENOUGH = 50 };

static void name_of(uint64_t number, char name[16])
{
	snprintf(name, 16, "file%u", (unsigned)(number % NAMES));
}

/* Publishes seed after seed, and tells which is done. Does not return. */
static void publish_forever(const struct fixture *f, uint64_t seed, int done)
{
	struct store *store = fixture_open(f);

	for (;; seed++) {
		AUTO_FREE uint8_t *bytes = NULL;
		char name[16];
		size_t size;

		bytes = told_content(seed, &size);
		name_of(seed, name);
		publish(store, name, bytes, size);
		if (write(done, &seed, sizeof(seed)) != sizeof(seed))
			_exit(1);
	}
}

/* Runs a publisher for a moment. Gives the first seed that it did not finish.
 */
static uint64_t run_publisher(const struct fixture *f, uint64_t seed,
			      long nanoseconds)
{
	const struct timespec moment = { .tv_nsec = nanoseconds };
	uint64_t finished;
	int done[2];
	pid_t pid;

	assert_int_equal(pipe2(done, O_CLOEXEC), 0);
	pid = fork();
	assert_true(pid >= 0);
	if (pid == 0)
		publish_forever(f, seed, done[1]);
	close(done[1]);
	nanosleep(&moment, NULL);
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, NULL, 0), pid);
	while (read(done[0], &finished, sizeof(finished)) == sizeof(finished))
		seed = finished + 1;
	close(done[0]);
	return seed;
}

/* Every name has the last version whose publication returned, or the next. */
static void assert_all_whole(struct store *store, uint64_t next)
{
	for (uint64_t i = 1; i <= NAMES && i <= next; i++) {
		uint64_t seed;
		char name[16];

		name_of(next - i, name);
		assert_int_equal(try_read_told(store, name, &seed), 0);
		assert_true(seed == next - i || (i == NAMES && seed == next));
	}
}

static void a_killed_publisher_leaves_whole_versions(void **state)
{
	struct fixture *f = *state;
	uint64_t next = 0;

	for (int i = 0; i < KILLS || next < ENOUGH; i++) {
		next = run_publisher(f, next, i * 700000L);
		assert_all_whole(f->store, next);
		fixture_reopen(f);
		assert_all_whole(f->store, next);
	}
	assert_int_equal(measured(f->store).quarantined, 0);
	assert_int_equal(measured(f->store).unreadable, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test_setup_teardown(
			a_killed_publisher_leaves_whole_versions, fixture_setup,
			fixture_teardown),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
