/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/counters.h"

#include "fs/store/state.h"

static const struct counter_about abouts[COUNTER_COUNT] = {
	[COUNTER_HITS] = { "hits",
			   "Opens of a published artifact for reading" },
	[COUNTER_MISSES] = { "misses",
			     "Lookups and opens of an artifact's name that "
			     "found nothing" },
	[COUNTER_PUBLISHED] = { "published",
				"Versions of artifacts that were published" },
	[COUNTER_PUBLISHED_PLAIN] = { "published_plain",
				      "Versions of other files that were "
				      "published" },
	[COUNTER_UNSOUND] = { "unsound",
			      "Artifacts that were closed incomplete and not "
			      "published" },
	[COUNTER_DROPPED] = { "dropped",
			      "Artifacts that were given up because their "
			      "writer was killed or publishing failed" },
	[COUNTER_DAMAGED] = { "damaged",
			      "Published files that were found damaged and set "
			      "aside" },
	[COUNTER_DAMAGED_PACKS] = { "damaged_packs",
				    "Packs that were found damaged and set "
				    "aside" },
	[COUNTER_HEALED] = { "healed",
			     "Damaged files that were published again" },
	[COUNTER_EVICTED] = { "evicted",
			      "Entries that were removed to make room" },
	[COUNTER_IN_BYTES] = { "in_bytes",
			       "Bytes of content that were published" },
	[COUNTER_ADDED_BYTES] = { "added_bytes",
				  "Bytes that published content was stored "
				  "in" },
	[COUNTER_DEDUPLICATED_BYTES] = { "deduplicated_bytes",
					 "Bytes of published content that were "
					 "in the store already" },
	[COUNTER_REFERENCE_BYTES] = { "reference_compressed_bytes",
				      "Bytes of published content that were "
				      "compressed against a similar block" },
	[COUNTER_OUT_BYTES] = { "out_bytes", "Bytes that reads were given" },
};

const struct counter_about *counter_about(enum counter counter)
{
	return &abouts[counter];
}

void store_count(struct store *store, enum counter counter, uint64_t amount)
{
	atomic_fetch_add_explicit(&store->counters.value[counter], amount,
				  memory_order_relaxed);
}

struct counts store_counts(const struct store *store)
{
	struct counts now;

	for (int i = 0; i < COUNTER_COUNT; i++)
		now.value[i] = atomic_load_explicit(&store->counters.value[i],
						    memory_order_relaxed);
	return now;
}

void counts_add(struct counts *to, const struct counts *more)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (__builtin_add_overflow(to->value[i], more->value[i],
					   &to->value[i]))
			to->value[i] = UINT64_MAX;
}

void counts_subtract(struct counts *from, const struct counts *less)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (__builtin_sub_overflow(from->value[i], less->value[i],
					   &from->value[i]))
			from->value[i] = 0;
}

bool counts_equal(const struct counts *a, const struct counts *b)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		if (a->value[i] != b->value[i])
			return false;
	return true;
}
