/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/measures.h"

/* tacfs(1) has them, too. */
static const struct measure measures[] = {
#define MEASURE(member, text)                                                  \
	{                                                                      \
		.name = #member, .help = (text),                               \
		.offset = offsetof(struct store_measures, member)              \
	}
	MEASURE(files, "Published files"),
	MEASURE(directories, "Published directories"),
	MEASURE(file_bytes, "Sizes of the published files"),
	MEASURE(stored_bytes, "Sizes of all files below the store"),
	MEASURE(allocated_bytes, "Space that those files take"),
	MEASURE(packs, "Pack files"),
	MEASURE(pack_bytes, "Sizes of the pack files"),
	MEASURE(manifest_bytes, "Sizes of the manifests"),
	MEASURE(blocks, "Stored blocks"),
	MEASURE(block_bytes, "Bytes that the stored blocks stand for"),
	MEASURE(block_stored_bytes, "Bytes that the stored blocks take"),
	MEASURE(references, "Uses of blocks by files"),
	MEASURE(referenced_bytes, "Bytes that those uses stand for"),
	MEASURE(unreadable, "Published files that cannot be read"),
	MEASURE(quarantined, "Files that were found damaged and set aside"),
#undef MEASURE
};

const struct measure *measure_at(size_t index)
{
	return index < sizeof(measures) / sizeof(*measures) ? &measures[index]
							    : NULL;
}

uint64_t measure_value(const struct measure *measure,
		       const struct store_measures *m)
{
	const char *base = (const char *)m;

	return *(const uint64_t *)(const void *)(base + measure->offset);
}
