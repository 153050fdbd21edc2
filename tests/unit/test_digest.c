/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>

#include <cmocka.h>
#include <xxhash.h>

#include "codec/block.h"
#include "codec/digest.h"
#include "tests/unit/collision.h"

enum { SEED = 1 };

static void assert_digest(const struct digest *d, const char *text)
{
	char hex[DIGEST_TEXT_SIZE];

	digest_text(d, hex);
	assert_string_equal(hex, text);
}

static void the_digest_is_the_published_xxh3_128(void **state)
{
	struct digest d = digest_of("", 0);

	(void)state;
	assert_digest(&d, "99aa06d3014798d86001c324468d497f");
}

/* However the processor's own instructions are used. */
static void hashes_are_those_of_the_library_at_every_size(void **state)
{
	enum { MOST = 5000, LARGE = 65536 };
	static uint8_t bytes[LARGE + 1];

	(void)state;
	for (size_t i = 0; i <= LARGE; i++)
		bytes[i] = (uint8_t)(i * i >> 7);
	for (size_t size = 0; size <= LARGE; size += size < MOST ? 1 : 4093) {
		const uint8_t *at = bytes + size % 2;
		struct digest d = digest_of(at, size);
		XXH128_canonical_t expected;

		XXH128_canonicalFromHash(&expected, XXH3_128bits(at, size));
		assert_memory_equal(d.b, expected.digest, DIGEST_SIZE);
		assert_int_equal(check_of(at, size, SEED),
				 XXH3_64bits_withSeed(at, size, SEED));
	}
}

static void text_and_digest_convert_both_ways(void **state)
{
	struct digest d = digest_of("a", 1);
	struct digest back = { { 0 } };
	char text[DIGEST_TEXT_SIZE];

	(void)state;
	digest_text(&d, text);
	assert_int_equal(digest_from_text(text, &back), 0);
	assert_true(digest_equal(&d, &back));
}

static void text_of_any_other_form_is_refused(void **state)
{
	static const char *const bad[] = {
		"",
		"99aa06d3014798d86001c324468d497",
		"99aa06d3014798d86001c324468d497f0",
		"99AA06D3014798D86001C324468D497F",
		" 9aa06d3014798d86001c324468d497f",
		"99aa06d3014798d86001c324468d497g",
		"99aa06d3014798d8/001c324468d497f",
	};
	struct digest d = { { 7 } };

	(void)state;
	for (size_t i = 0; i < sizeof(bad) / sizeof(bad[0]); i++)
		assert_int_equal(digest_from_text(bad[i], &d), -EBADMSG);
	assert_int_equal(d.b[0], 7);
}

static void a_file_hash_does_not_depend_on_the_pieces(void **state)
{
	static const uint8_t abc_sha256[SHA256_SIZE] = {
		0xba, 0x78, 0x16, 0xbf, 0x8f, 0x01, 0xcf, 0xea,
		0x41, 0x41, 0x40, 0xde, 0x5d, 0xae, 0x22, 0x23,
		0xb0, 0x03, 0x61, 0xa3, 0x96, 0x17, 0x7a, 0x9c,
		0xb4, 0x10, 0xff, 0x61, 0xf2, 0x00, 0x15, 0xad
	};
	struct file_hash *h = file_hash_new();
	struct digest whole = digest_of("abc", 3);
	struct digest digest;
	uint8_t sha256[SHA256_SIZE];

	(void)state;
	assert_non_null(h);
	file_hash_add(h, "a", 1);
	file_hash_add(h, NULL, 0);
	file_hash_add(h, "bc", 2);
	file_hash_end(h, &digest, sha256);
	file_hash_free(h);
	assert_true(digest_equal(&digest, &whole));
	assert_memory_equal(sha256, abc_sha256, SHA256_SIZE);
}

static void one_digest_of_two_contents_has_two_block_ids(void **state)
{
	static const size_t sizes[] = { COLLISION_MIN, 4096, 8192, 65536 };
	static uint8_t a[65536], b[65536];

	(void)state;
	for (size_t i = 0; i < sizeof(sizes) / sizeof(sizes[0]); i++) {
		struct block_id one, two;

		collision_pair(a, b, sizes[i]);
		one = block_id_of(a, sizes[i], SEED);
		two = block_id_of(b, sizes[i], SEED);
		assert_memory_not_equal(a, b, sizes[i]);
		assert_true(digest_equal(&one.digest, &two.digest));
		assert_int_equal(check_of(a, sizes[i], 0),
				 check_of(b, sizes[i], 0));
		assert_true(one.check != two.check);
		assert_false(block_id_equal(&one, &two));
	}
}

static void every_part_of_a_block_id_counts(void **state)
{
	const struct block_id id = block_id_of("abc", 3, SEED);
	struct block_id other = id;

	(void)state;
	assert_true(block_id_equal(&id, &other));
	other.size++;
	assert_false(block_id_equal(&id, &other));
	other = block_id_of("abc", 3, SEED + 1);
	assert_false(block_id_equal(&id, &other));
	other = id;
	other.digest.b[DIGEST_SIZE - 1] ^= 1;
	assert_false(block_id_equal(&id, &other));
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_digest_is_the_published_xxh3_128),
		cmocka_unit_test(hashes_are_those_of_the_library_at_every_size),
		cmocka_unit_test(text_and_digest_convert_both_ways),
		cmocka_unit_test(text_of_any_other_form_is_refused),
		cmocka_unit_test(a_file_hash_does_not_depend_on_the_pieces),
		cmocka_unit_test(one_digest_of_two_contents_has_two_block_ids),
		cmocka_unit_test(every_part_of_a_block_id_counts),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
