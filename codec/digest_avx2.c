/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/digest_avx2.h"

#include "codec/xxh3.h"

struct digest digest_of_avx2(const void *bytes, size_t size)
{
	return xxh3_digest(XXH3_128bits(bytes, size));
}

uint64_t check_of_avx2(const void *bytes, size_t size, uint64_t seed)
{
	return XXH3_64bits_withSeed(bytes, size, seed);
}
