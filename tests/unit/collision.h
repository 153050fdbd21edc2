/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_UNIT_COLLISION_H
#define TACFS_TESTS_UNIT_COLLISION_H

/*
 * Two contents with one XXH3-128. They show that nothing is shared, and nothing
 * is trusted, for the sake of that hash alone.
 */

#include <stddef.h>
#include <stdint.h>

enum { COLLISION_MIN = 2048 };

/*
 * Fills `a` and `b`, each of `size` bytes, at least COLLISION_MIN. They differ
 * in their first 128 bytes only, and their XXH3-64 and XXH3-128 without a seed
 * are equal.
 */
void collision_pair(uint8_t *a, uint8_t *b, size_t size);

#endif
