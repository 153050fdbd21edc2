/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_CODEC_DIGEST_H
#define TACFS_CODEC_DIGEST_H

/*
 * The hashes of the store. XXH3-128 finds candidates for sharing and detects
 * damage; it is not collision resistant, so it never proves that two contents
 * are the same. `check` is a second, seeded hash that tells apart two blocks
 * whose XXH3-128 collides.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum {
	DIGEST_SIZE = 16,
	SHA256_SIZE = 32,
	DIGEST_TEXT_SIZE = 2 * DIGEST_SIZE + 1
};

/* XXH3-128, unseeded, in XXH128_canonicalFromHash's byte order. */
struct digest {
	uint8_t b[DIGEST_SIZE];
};

struct digest digest_of(const void *bytes, size_t size);
bool digest_equal(const struct digest *a, const struct digest *b);
/* Lowercase hex and a NUL. */
void digest_text(const struct digest *d, char text[DIGEST_TEXT_SIZE]);
/* 0, or -EBADMSG when `text` is not 32 lowercase hex digits. */
int digest_from_text(const char *text, struct digest *d);

/* XXH3-64 with a seed (0 for plain checksums). */
uint64_t check_of(const void *bytes, size_t size, uint64_t seed);

/* The whole-file hashes of a manifest, over pieces in order. */
struct file_hash;

struct file_hash *file_hash_new(void); /* NULL without memory */
void file_hash_free(struct file_hash *h);
void file_hash_add(struct file_hash *h, const void *bytes, size_t size);
void file_hash_end(struct file_hash *h, struct digest *digest,
		   uint8_t sha256[SHA256_SIZE]);

#endif
