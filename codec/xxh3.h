/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_XXH3_H
#define TACFS_CODEC_XXH3_H

/*
 * XXH3, compiled into the file that includes this, for the instructions that
 * file is compiled for. For the digest*.c only.
 */

#include <assert.h>
#include <string.h>

#include "codec/digest.h"

#define XXH_INLINE_ALL
#include <xxhash.h>

static_assert(sizeof(XXH128_canonical_t) == DIGEST_SIZE, "digest size");

static inline struct digest xxh3_digest(XXH128_hash_t hash)
{
	XXH128_canonical_t canonical;
	struct digest d;

	XXH128_canonicalFromHash(&canonical, hash);
	memcpy(d.b, canonical.digest, DIGEST_SIZE);
	return d;
}

#endif
