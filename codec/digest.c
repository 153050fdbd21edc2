/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/digest.h"

#include <errno.h>
#include <openssl/evp.h>
#include <stdlib.h>
#include <string.h>

#include "codec/digest_avx2.h"
#include "codec/xxh3.h"

struct file_hash {
	XXH3_state_t *xxh3;
	EVP_MD_CTX *sha256;
};

/* Short inputs gain nothing: XXH3 has other ways with them. */
static bool use_avx2(size_t size)
{
#ifdef TACFS_AVX2
	return size > 240 && __builtin_cpu_supports("avx2");
#else
	(void)size;
	return false;
#endif
}

struct digest digest_of(const void *bytes, size_t size)
{
	if (use_avx2(size))
		return digest_of_avx2(bytes, size);
	return xxh3_digest(XXH3_128bits(bytes, size));
}

bool digest_equal(const struct digest *a, const struct digest *b)
{
	return memcmp(a->b, b->b, DIGEST_SIZE) == 0;
}

void digest_text(const struct digest *d, char text[DIGEST_TEXT_SIZE])
{
	static const char digits[] = "0123456789abcdef";

	for (size_t i = 0; i < DIGEST_SIZE; i++) {
		text[2 * i] = digits[d->b[i] >> 4];
		text[2 * i + 1] = digits[d->b[i] & 15];
	}
	text[DIGEST_TEXT_SIZE - 1] = '\0';
}

/* -1 for what is not a lowercase hex digit, the NUL at the end included. */
static int digit_value(char c)
{
	if (c >= '0' && c <= '9')
		return c - '0';
	if (c >= 'a' && c <= 'f')
		return c - 'a' + 10;
	return -1;
}

int digest_from_text(const char *text, struct digest *d)
{
	struct digest read = { { 0 } };

	for (size_t i = 0; i < DIGEST_TEXT_SIZE - 1; i++) {
		int value = digit_value(text[i]);

		if (value < 0)
			return -EBADMSG;
		read.b[i / 2] = (uint8_t)(read.b[i / 2] << 4 | value);
	}
	if (text[DIGEST_TEXT_SIZE - 1])
		return -EBADMSG;
	*d = read;
	return 0;
}

uint64_t check_of(const void *bytes, size_t size, uint64_t seed)
{
	if (use_avx2(size))
		return check_of_avx2(bytes, size, seed);
	return XXH3_64bits_withSeed(bytes, size, seed);
}

struct file_hash *file_hash_new(void)
{
	struct file_hash *h = calloc(1, sizeof(*h));

	if (!h)
		return NULL;
	h->xxh3 = XXH3_createState();
	h->sha256 = EVP_MD_CTX_new();
	if (!h->xxh3 || !h->sha256 || XXH3_128bits_reset(h->xxh3) != XXH_OK ||
	    !EVP_DigestInit_ex(h->sha256, EVP_sha256(), NULL)) {
		file_hash_free(h);
		return NULL;
	}
	return h;
}

void file_hash_free(struct file_hash *h)
{
	if (!h)
		return;
	EVP_MD_CTX_free(h->sha256);
	XXH3_freeState(h->xxh3);
	free(h);
}

void file_hash_add(struct file_hash *h, const void *bytes, size_t size)
{
	if (!size)
		return;
	XXH3_128bits_update(h->xxh3, bytes, size);
	EVP_DigestUpdate(h->sha256, bytes, size);
}

void file_hash_end(struct file_hash *h, struct digest *digest,
		   uint8_t sha256[SHA256_SIZE])
{
	*digest = xxh3_digest(XXH3_128bits_digest(h->xxh3));
	EVP_DigestFinal_ex(h->sha256, sha256, NULL);
}
