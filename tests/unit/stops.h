/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_STOPS_H
#define TACFS_TESTS_UNIT_STOPS_H

/*
 * Stops this process before a call that looks at or changes a file. They are
 * counted by wrappers that the linker puts around them: a program with this
 * needs the options in store.cmake.
 */

#include <stdbool.h>

/* SIGSTOP before that call from now on, and, unless `once`, all later ones. */
void stop_before(unsigned number, bool once);

/*
 * Of `stride` steps one is stopped at, and the next is killed at. What follows
 * is one step, unless each is to stop. An evictor's steps are many.
 */
struct pace {
	unsigned stride;
	unsigned evictor_stride;
	bool once;
};

/* With TACFS_LONG each step. */
struct pace chosen_pace(void);

#endif
