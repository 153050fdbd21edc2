/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_SET_ORDER_H
#define TACFS_COMPILER_PYTHON_SET_ORDER_H

/*
 * The order in which Python iterates over a set: that of its hash table
 * (Objects/setobject.c). It is the same in every process when all items are
 * numbers, or tuples of numbers; of other sets (strings are hashed with a
 * random key) the order of the input is kept.
 */

#include "codec/arena.h"
#include "compiler/python/value.h"

/*
 * Reorders the items of a set as Python 3.`minor` prints them, after inserting
 * them in the order they have; drops what is there twice. Must be called at
 * most once for a set. `scratch` lends a hash table.
 *
 * Returns 0; -E2BIG when the items collide more than real ones could; or as
 * memory_take().
 */
int set_order(struct value *set, unsigned minor, struct arena *scratch);

#endif
