/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_STEPS_H
#define TACFS_TESTS_UNIT_STEPS_H

/*
 * A process that stops before one of its calls that look at or change names,
 * and before every later one. The linker gives those calls to steps.c: see
 * store.cmake.
 */

/* Before the call of this number, from 1; 0: never. */
void steps_stop(unsigned stop);

#endif
