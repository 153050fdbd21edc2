/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/collision.h"

#include <string.h>

#define XXH_STATIC_LINKING_ONLY
#include <xxhash.h>

#include "codec/le.h"

enum { STRIPE_SIZE = 64, SECRET_STEP = 8, HALF = 4 };

/* Bytes that neither compress nor repeat. */
static void fill(uint8_t *bytes, size_t size)
{
	uint64_t state = 0x7461636673;

	for (size_t i = 0; i < size; i++) {
		state ^= state << 13;
		state ^= state >> 7;
		state ^= state << 17;
		bytes[i] = (uint8_t)(state >> 32);
	}
}

static void add_high(uint8_t *lane, uint32_t n)
{
	le32 high;

	memcpy(&high, lane + HALF, sizeof(high));
	high = le32_of(le32_get(high) + n);
	memcpy(lane + HALF, &high, sizeof(high));
}

/*
 * A lane of a long input enters XXH3 as the product of its halves, each mixed
 * with the secret, and as its plain value in a sum with the same lane of the
 * other stripes of its kilobyte. With a low half that is the secret's own the
 * product is zero whatever the high half is, and then only the sum is left:
 * what one stripe gains, the next may lose.
 */
void collision_pair(uint8_t *a, uint8_t *b, size_t size)
{
	uint8_t secret[XXH3_SECRET_DEFAULT_SIZE];

	XXH3_generateSecret_fromSeed(secret, 0);
	fill(a, size);
	memcpy(a, secret, HALF);
	memcpy(a + STRIPE_SIZE, secret + SECRET_STEP, HALF);
	memcpy(b, a, size);
	add_high(b, 1);
	add_high(b + STRIPE_SIZE, (uint32_t)-1);
}
