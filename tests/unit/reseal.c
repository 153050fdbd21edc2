/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/reseal.h"

#include <string.h>

#include "codec/digest.h"
#include "codec/le.h"
#include "codec/pack.h"

enum {
	MANIFEST_LEAST = 32 + DIGEST_SIZE,
	MANIFEST_SIZE_AT = 16,
	TABLE_OFFSET_AT = 32,
	TABLE_SIZE_AT = 40,
	TABLE_DIGEST_AT = 48
};

static void put_le64(uint8_t *at, uint64_t v)
{
	le64 le = le64_of(v);

	memcpy(at, &le, sizeof(le));
}

static uint64_t get_le64(const uint8_t *at)
{
	le64 le;

	memcpy(&le, at, sizeof(le));
	return le64_get(le);
}

void reseal_manifest(uint8_t *bytes, size_t size)
{
	struct digest digest;

	if (size < MANIFEST_LEAST)
		return;
	put_le64(bytes + MANIFEST_SIZE_AT, size);
	digest = digest_of(bytes, size - DIGEST_SIZE);
	memcpy(bytes + size - DIGEST_SIZE, digest.b, DIGEST_SIZE);
}

void reseal_frame(uint8_t *bytes, size_t size)
{
	size_t covered = size - sizeof(le64);

	put_le64(bytes + covered, check_of(bytes, covered, 0));
}

void reseal_pack(uint8_t *bytes, size_t size)
{
	uint8_t *trailer;
	uint64_t offset;
	size_t end;

	if (size < PACK_HEADER_SIZE + PACK_TRAILER_SIZE)
		return;
	end = size - PACK_TRAILER_SIZE;
	trailer = bytes + end;
	offset = get_le64(trailer + TABLE_OFFSET_AT);
	if (offset <= end) {
		size_t table = end - (size_t)offset;
		struct digest digest = digest_of(bytes + offset, table);

		put_le64(trailer + TABLE_SIZE_AT, table);
		memcpy(trailer + TABLE_DIGEST_AT, digest.b, DIGEST_SIZE);
	}
	reseal_frame(bytes, PACK_HEADER_SIZE);
	reseal_frame(trailer, PACK_TRAILER_SIZE);
}
