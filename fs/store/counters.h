/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_COUNTERS_H
#define TACFS_FS_STORE_COUNTERS_H

/*
 * What has happened through one open store, in numbers that only grow. What
 * each of them counts exactly: docs/operations.md, "Counters".
 */

#include <stdatomic.h>
#include <stdbool.h>
#include <stdint.h>

#include "fs/store/store.h"

enum counter {
	COUNTER_HITS,
	COUNTER_MISSES,
	COUNTER_PUBLISHED,
	COUNTER_PUBLISHED_PLAIN,
	COUNTER_UNSOUND,
	COUNTER_DROPPED,
	COUNTER_DAMAGED,
	COUNTER_DAMAGED_PACKS,
	COUNTER_HEALED,
	COUNTER_EVICTED,
	COUNTER_IN_BYTES,
	COUNTER_ADDED_BYTES,
	COUNTER_DEDUPLICATED_BYTES,
	COUNTER_REFERENCE_BYTES,
	COUNTER_OUT_BYTES,
	COUNTER_COUNT
};

struct counter_about {
	const char *name; /* of a member in JSON; of a metric, with a prefix */
	const char *help; /* one sentence, without a full stop */
};

const struct counter_about *counter_about(enum counter counter);

/* As they count: each is right by itself, no order between them is kept. */
struct counters {
	_Atomic uint64_t value[COUNTER_COUNT];
};

/* As they were at one moment. */
struct counts {
	uint64_t value[COUNTER_COUNT];
};

void store_count(struct store *store, enum counter counter, uint64_t amount);
struct counts store_counts(const struct store *store);

/* A sum stops at UINT64_MAX, a difference at 0. */
void counts_add(struct counts *to, const struct counts *more);
void counts_subtract(struct counts *from, const struct counts *less);
bool counts_equal(const struct counts *a, const struct counts *b);

#endif
