/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_NUMBER_H
#define TACFS_COMPILER_PYTHON_NUMBER_H

/*
 * The repr and the hash of Python's numbers, as atoms. (Objects/longobject.c,
 * floatobject.c, complexobject.c; the hashes are Python/pyhash.c's.)
 */

#include <stdbool.h>

#include "codec/arena.h"
#include "compiler/python/value.h"

/* Each returns NULL, and why in *err, as memory_take() does. */
const struct value *number_of_int32(struct arena *arena, int32_t number,
				    int *err);
const struct value *number_of_float(struct arena *arena, double number,
				    int *err);
const struct value *number_of_complex(struct arena *arena, double real,
				      double imaginary, int *err);

/*
 * From `count` digits of 15 bits, each two bytes, the lowest first. Python
 * prints no int of more than 4300 decimal digits; such a one gets the text
 * NUMBER_TOO_LONG.
 */
const struct value *number_of_digits(struct arena *arena, const uint8_t *digits,
				     size_t count, bool negative, int *err);

#define NUMBER_TOO_LONG "<int of more than 4300 digits>"

/* Python's hash of a tuple from those of its items (Objects/tupleobject.c). */
struct tuple_hash {
	uint64_t state;
	uint64_t count;
};

struct tuple_hash tuple_hash_start(void);
void tuple_hash_add(struct tuple_hash *hash, uint64_t item);
uint64_t tuple_hash_end(const struct tuple_hash *hash);

#endif
