/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_LE_H
#define TACFS_CODEC_LE_H

/*
 * Little-endian integers as they lie on disk. Each is a type of its own, so
 * that using one as a number does not compile, a struct of them has no padding,
 * and it may lie at any address.
 */

#include <stdint.h>

typedef struct {
	uint8_t b[2];
} le16;

typedef struct {
	uint8_t b[4];
} le32;

typedef struct {
	uint8_t b[8];
} le64;

static inline uint16_t le16_get(le16 v)
{
	return (uint16_t)(v.b[0] | v.b[1] << 8);
}

static inline uint32_t le32_get(le32 v)
{
	return (uint32_t)v.b[0] | (uint32_t)v.b[1] << 8 |
	       (uint32_t)v.b[2] << 16 | (uint32_t)v.b[3] << 24;
}

static inline uint64_t le64_get(le64 v)
{
	uint64_t low = (uint64_t)v.b[0] | (uint64_t)v.b[1] << 8 |
		       (uint64_t)v.b[2] << 16 | (uint64_t)v.b[3] << 24;
	uint64_t high = (uint64_t)v.b[4] | (uint64_t)v.b[5] << 8 |
			(uint64_t)v.b[6] << 16 | (uint64_t)v.b[7] << 24;

	return low | high << 32;
}

static inline le16 le16_of(uint16_t v)
{
	return (le16){ { (uint8_t)v, (uint8_t)(v >> 8) } };
}

static inline le32 le32_of(uint32_t v)
{
	return (le32){ { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 24) } };
}

static inline le64 le64_of(uint64_t v)
{
	return (le64){ { (uint8_t)v, (uint8_t)(v >> 8), (uint8_t)(v >> 16),
			 (uint8_t)(v >> 24), (uint8_t)(v >> 32),
			 (uint8_t)(v >> 40), (uint8_t)(v >> 48),
			 (uint8_t)(v >> 56) } };
}

#endif
