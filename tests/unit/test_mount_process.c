/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/mount/process.h"

#include <pthread.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdlib.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

static struct process process_of(pid_t thread)
{
	struct caller caller = caller_of(thread);

	return caller_process(&caller);
}

struct told {
	pid_t thread;
	struct process process;
};

static void *tell(void *data)
{
	struct told *told = data;

	told->thread = gettid();
	told->process = process_of(told->thread);
	return NULL;
}

static void threads_belong_to_their_process(void **state)
{
	struct told told;
	struct process self = process_of(getpid());
	pthread_t thread;

	(void)state;
	assert_int_equal(pthread_create(&thread, NULL, tell, &told), 0);
	pthread_join(thread, NULL);
	assert_int_not_equal(told.thread, getpid());
	assert_int_equal(told.process.id, getpid());
	assert_true(process_equal(&told.process, &self));
}

static pid_t start_child(void)
{
	pid_t child = fork();

	if (child == 0) {
		pause();
		_exit(0);
	}
	assert_true(child > 0);
	return child;
}

static void child_is_another_process_and_dies(void **state)
{
	pid_t id = start_child();
	struct process self = process_of(getpid());
	struct process child = process_of(id);

	(void)state;
	assert_false(process_equal(&child, &self));
	assert_true(process_is_alive(&child));
	kill(id, SIGKILL);
	assert_int_equal(waitpid(id, NULL, 0), id);
	assert_false(process_is_alive(&child));
}

static void unknown_process_is_as_alive_as_the_mount(void **state)
{
	struct process unknown = process_of(0);

	(void)state;
	assert_int_equal(unknown.id, 0);
	assert_true(process_is_alive(&unknown));
	assert_false(thread_was_killed(0));
}

static void who_runs_was_not_killed(void **state)
{
	(void)state;
	assert_false(thread_was_killed(gettid()));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(threads_belong_to_their_process),
		cmocka_unit_test(child_is_another_process_and_dies),
		cmocka_unit_test(unknown_process_is_as_alive_as_the_mount),
		cmocka_unit_test(who_runs_was_not_killed),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
