/* SPDX-License-Identifier: Apache-2.0 */
/* What tells a collector of names that are moved: guard.h and moves.h. */
#include "fs/store/guard.h"

#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/collector.h"
#include "fs/store/moves.h"
#include "fs/store/state.h"
#include "tests/unit/store_collecting.h"

static struct moves_state looked(struct store *store)
{
	struct moves_state state;

	assert_int_equal(moves_look(store, &state), 0);
	return state;
}

static void a_file_has_a_link_while_it_is_guarded(void **state)
{
	struct fixture *f = *state;
	struct guard guard;

	publish(f->store, "file", "abc", 3);
	assert_int_equal(
		guard_begin(f->store, store_refs(f->store), "file", &guard), 0);
	assert_int_equal(count_below(f, "intents"), 1);
	assert_false(looked(f->store).under_way);
	guard_end(&guard);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void the_link_stays_for_a_collector(void **state)
{
	struct fixture *f = *state;
	struct collector collector;
	struct guard guard;

	publish(f->store, "file", "abc", 3);
	assert_false(guard_is_needed(f->store));
	assert_int_equal(
		guard_begin(f->store, store_refs(f->store), "file", &guard), 0);
	assert_int_equal(collector_begin(f->store, 100, &collector), 0);
	assert_true(guard_is_needed(f->store));
	guard_end(&guard);
	collector_end(&collector);
	assert_int_equal(count_below(f, "intents"), 2); /* it says so, too */
	assert_false(guard_is_needed(f->store));
	collected(f->store, &collect_all); /* the next one does not need it */
	assert_int_equal(count_below(f, "intents"), 0);
}

static void a_directory_is_counted(void **state)
{
	struct moves_state before, after;
	struct fixture *f = *state;
	struct guard guard;

	assert_int_equal(mkdirat(store_refs(f->store), "dir", 0700), 0);
	before = looked(f->store);
	assert_false(before.under_way);
	assert_int_equal(
		guard_begin(f->store, store_refs(f->store), "dir", &guard), 0);
	assert_true(looked(f->store).under_way);
	guard_end(&guard);
	after = looked(f->store);
	assert_false(after.under_way);
	assert_int_not_equal(after.digest, before.digest);
	fixture_reopen(f);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void what_is_not_there_is_not_guarded(void **state)
{
	struct fixture *f = *state;
	struct guard guard;

	assert_int_equal(
		guard_begin(f->store, store_refs(f->store), "missing", &guard),
		-ENOENT);
	guard_end(&guard);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void moves_of_two_are_told_apart(void **state)
{
	struct fixture *f = *state;
	struct store *other = fixture_open(f);
	uint64_t first, second;

	assert_int_equal(moves_begin(f->store), 0);
	moves_end(f->store);
	first = looked(f->store).digest;
	assert_int_equal(moves_begin(other), 0);
	assert_true(looked(f->store).under_way);
	moves_end(other);
	assert_false(looked(f->store).under_way);
	second = looked(f->store).digest;
	assert_int_not_equal(first, second);
	assert_int_equal(looked(other).digest, second);
	store_close(other);
}

static void a_lost_record_is_made_again(void **state)
{
	struct fixture *f = *state;

	assert_int_equal(moves_begin(f->store), 0);
	moves_end(f->store);
	assert_int_equal(unlinkat(f->store->intents, f->store->moves.name, 0),
			 0);
	assert_int_equal(moves_begin(f->store), 0);
	assert_true(looked(f->store).under_way);
	moves_end(f->store);
	assert_false(looked(f->store).under_way);
	assert_int_equal(count_below(f, "intents"), 1);
}

/* Starts to move a directory, and dies. */
static void die_moving(const struct fixture *f)
{
	int status;
	pid_t pid = fork();

	assert_true(pid >= 0);
	if (pid == 0) {
		struct store *store = fixture_open(f);

		_exit(moves_begin(store) ? 1 : 0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void who_dies_moving_stops_collectors_for_a_time_only(void **state)
{
	struct collect_options patient = collect_all;
	struct fixture *f = *state;
	struct collect_result r;

	die_moving(f);
	assert_int_equal(store_collect(f->store, &patient, &r), -EAGAIN);
	assert_non_null(strstr(r.trouble, "moved all the time"));
	patient.intents = -1; /* as if it were long ago */
	collected(f->store, &patient);
	assert_int_equal(count_below(f, "intents"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_file_has_a_link_while_it_is_guarded),
		STORE_TEST(the_link_stays_for_a_collector),
		STORE_TEST(a_directory_is_counted),
		STORE_TEST(what_is_not_there_is_not_guarded),
		STORE_TEST(moves_of_two_are_told_apart),
		STORE_TEST(a_lost_record_is_made_again),
		STORE_TEST(who_dies_moving_stops_collectors_for_a_time_only),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
