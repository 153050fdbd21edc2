/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include <cmocka.h>

#include "codec/chunk.h"
#include "fs/own.h"
#include "fs/store/state.h"
#include "tests/unit/collision.h"
#include "tests/unit/store_fixture.h"

#define MIB ((size_t)1 << 20)

static uint8_t *filled(size_t size, uint64_t seed, unsigned noise)
{
	uint8_t *bytes = malloc(size + 1);

	assert_non_null(bytes);
	fill(bytes, size, seed, noise);
	return bytes;
}

static void content_of_any_size_is_read_back_exactly(void **state)
{
	static const size_t sizes[] = {
		0,
		1,
		MANIFEST_INLINE_MAX - 1,
		MANIFEST_INLINE_MAX,
		MANIFEST_INLINE_MAX + 1,
		CHUNK_MIN - 1,
		CHUNK_MIN,
		CHUNK_MIN + 1,
		CHUNK_MAX - 1,
		CHUNK_MAX,
		CHUNK_MAX + 1,
		MIB - 1,
		MIB,
		MIB + 1,
		3 * MIB + 77,
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(sizes) / sizeof(*sizes); i++)
		for (unsigned noise = 1; noise <= 256; noise += 51) {
			AUTO_FREE uint8_t *bytes = filled(sizes[i], i, noise);

			publish(f->store, "file", bytes, sizes[i]);
			assert_reads(f->store, "file", bytes, sizes[i]);
		}
}

static void a_large_file_is_read_back_after_reopening(void **state)
{
	const size_t size = 20 * 1000 * 1000 + 1;
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(size, 3, 16);

	publish(f->store, "large", bytes, size);
	assert_reads(f->store, "large", bytes, size);
	fixture_reopen(f);
	assert_reads(f->store, "large", bytes, size);
}

static void any_part_can_be_read(void **state)
{
	static const size_t parts[] = { 1, 100, 4096, 65536, 70001, 1 << 20 };
	const size_t size = 1500000;
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(size, 4, 8);
	AUTO_FREE uint8_t *read = malloc(1 << 20);
	struct version *v;

	publish(f->store, "file", bytes, size);
	assert_int_equal(
		version_load(f->store, store_refs(f->store), "file", &v), 0);
	for (size_t i = 0; i < sizeof(parts) / sizeof(*parts); i++)
		for (size_t at = 0; at < size + 100; at += 77777) {
			size_t left = at < size ? size - at : 0;
			size_t expected = parts[i] < left ? parts[i] : left;

			assert_int_equal(
				version_read(f->store, v, at, read, parts[i]),
				expected);
			if (expected)
				assert_memory_equal(read, bytes + at, expected);
		}
	version_put(v);
}

static void attributes_and_hashes_are_kept(void **state)
{
	static const char *const names[] = { "graph_1.om", "graph_1.rdcpkt" };
	struct fixture *f = *state;
	AUTO_CLOSE int fd = content_file("abc", 3);
	const struct publication p = {
		.dir = store_refs(f->store),
		.name = "graph_1.idx",
		.content = fd,
		.meta = { .ino = 1234567890123,
			  .size = 3,
			  .mode = 04751,
			  .mtime_sec = -5,
			  .mtime_nsec = 999999999,
			  .kind = 3,
			  .verdict = VERDICT_SOUND,
			  .renderer = 9,
			  .readable_size = 77 },
		.names = names,
		.name_count = 2,
	};
	const struct digest digest = digest_of("abc", 3);
	const struct manifest_meta *meta;
	const char *const *read;
	struct version *made;
	struct version *v;
	size_t count;

	assert_int_equal(store_publish(f->store, &p, &made), 0);
	assert_int_equal(version_load(f->store, p.dir, p.name, &v), 0);
	meta = version_meta(v);
	assert_memory_equal(version_meta(made), meta, sizeof(*meta));
	assert_int_equal(meta->ino, 1234567890123);
	assert_int_equal(meta->mode, 04751);
	assert_int_equal(meta->mtime_sec, -5);
	assert_int_equal(meta->mtime_nsec, 999999999);
	assert_int_equal(meta->uid, geteuid());
	assert_int_equal(meta->kind, 3);
	assert_int_equal(meta->verdict, VERDICT_SOUND);
	assert_int_equal(meta->renderer, 9);
	assert_int_equal(meta->readable_size, 77);
	assert_true(digest_equal(&meta->digest, &digest));
	assert_int_equal(meta->sha256[0], 0xba); /* ba7816bf…: FIPS 180-2 */
	assert_int_equal(meta->sha256[31], 0xad);
	read = version_names(v, &count);
	assert_int_equal(count, 2);
	assert_string_equal(read[1], "graph_1.rdcpkt");
	version_put(made);
	version_put(v);
}

static void the_same_content_again_adds_no_pack(void **state)
{
	const size_t size = 3000000;
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(size, 5, 32);
	struct store *second = fixture_open(f);

	publish(f->store, "one", bytes, size);
	publish(f->store, "two", bytes, size);
	publish(second, "three", bytes, size);
	assert_int_equal(measured(f->store).packs, 1);
	assert_reads(second, "one", bytes, size);
	assert_reads(f->store, "three", bytes, size);
	store_close(second);
}

static void another_mount_shares_what_came_after_it_was_opened(void **state)
{
	struct fixture *f = *state;
	struct store *second = fixture_open(f);
	uint8_t bytes[50000];
	uint64_t stored = 0;

	for (uint64_t i = 0; i < 20; i++) {
		char name[16];

		snprintf(name, sizeof(name), "file%u", (unsigned)i);
		fill(bytes, sizeof(bytes), i, 256);
		publish(i % 2 ? second : f->store, name, bytes, sizeof(bytes));
		stored = measured(f->store).pack_bytes;
		publish(i % 2 ? f->store : second, "copy", bytes,
			sizeof(bytes));
		assert_int_equal(measured(f->store).pack_bytes, stored);
		assert_int_equal(measured(f->store).packs, i + 1);
	}
	store_close(second);
}

static void repeated_chunks_within_a_file_are_stored_once(void **state)
{
	const size_t one = 300000;
	const size_t all = 8 * one;
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(all, 6, 256);

	for (size_t at = one; at < all; at += one)
		memcpy(bytes + at, bytes, one);
	publish(f->store, "file", bytes, all);
	assert_in_range(measured(f->store).pack_bytes, one, 2 * one);
	assert_reads(f->store, "file", bytes, all);
}

static void contents_with_one_digest_are_both_kept(void **state)
{
	enum { SIZE = 3000 };
	struct fixture *f = *state;
	uint8_t both[2][SIZE];

	collision_pair(both[0], both[1], SIZE);
	for (int first = 0; first < 2; first++) {
		remove_packs(f);
		fixture_reopen(f);
		publish(f->store, "first", both[first], SIZE);
		publish(f->store, "second", both[!first], SIZE);
		publish(f->store, "third", both[first], SIZE);
		assert_int_equal(measured(f->store).packs, 2);
		assert_reads(f->store, "first", both[first], SIZE);
		assert_reads(f->store, "second", both[!first], SIZE);
		assert_reads(f->store, "third", both[first], SIZE);
	}
}

static void exclusive_publication_keeps_what_is_there(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = content_file("new", 3);
	struct publication p = {
		.dir = store_refs(f->store),
		.name = "file",
		.content = fd,
		.meta = { .size = 3 },
		.exclusive = true,
	};
	struct version *v;

	publish(f->store, "file", "old", 3);
	assert_int_equal(store_publish(f->store, &p, &v), -EEXIST);
	assert_reads(f->store, "file", "old", 3);
	p.name = "other";
	assert_int_equal(store_publish(f->store, &p, &v), 0);
	version_put(v);
	assert_reads(f->store, "other", "new", 3);
}

static void a_removed_directory_takes_no_publication(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	AUTO_FREE uint8_t *bytes = filled(9000, 7, 256);
	AUTO_CLOSE int fd = content_file(bytes, 9000);
	struct publication p = { .name = "file", .content = fd };
	AUTO_CLOSE int dir = -1;
	struct version *v;

	assert_int_equal(mkdirat(refs, "gone", 0700), 0);
	dir = openat(refs, "gone", O_RDONLY | O_DIRECTORY | O_CLOEXEC);
	assert_int_equal(unlinkat(refs, "gone", AT_REMOVEDIR), 0);
	p.dir = dir;
	for (size_t size = 0; size <= 9000; size += 3000) {
		p.meta.size = size;
		p.exclusive = size == 3000;
		assert_int_equal(store_publish(f->store, &p, &v), -ENOENT);
	}
}

static void a_file_shorter_than_it_says_is_refused(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int fd = content_file("short", 5);
	struct publication p = { .dir = store_refs(f->store),
				 .name = "file",
				 .content = fd };
	struct version *v;

	publish(f->store, "file", "old", 3);
	for (p.meta.size = 6; p.meta.size < 100000; p.meta.size *= 2)
		assert_int_equal(store_publish(f->store, &p, &v), -ENODATA);
	assert_reads(f->store, "file", "old", 3);
}

static void a_version_stays_readable_when_its_name_goes(void **state)
{
	enum { SIZE = 100000 };
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	AUTO_FREE uint8_t *old = filled(SIZE, 8, 256);
	AUTO_FREE uint8_t *new = filled(SIZE, 9, 256);
	AUTO_FREE uint8_t *read = malloc(SIZE);
	struct version *v;

	assert_int_equal(try_publish(f->store, "file", old, SIZE, &v), 0);
	assert_true(version_is_current(v, refs, "file"));
	publish(f->store, "file", new, SIZE);
	assert_false(version_is_current(v, refs, "file"));
	assert_int_equal(unlinkat(refs, "file", 0), 0);
	assert_false(version_is_current(v, refs, "file"));
	assert_int_equal(version_read(f->store, v, 0, read, SIZE), SIZE);
	assert_memory_equal(read, old, SIZE);
	version_put(v);
}

static void a_moved_manifest_is_still_its_version(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	struct version *moved;
	struct version *v;

	assert_int_equal(try_publish(f->store, "old", "abc", 3, &v), 0);
	assert_int_equal(renameat(refs, "old", refs, "new"), 0);
	assert_false(version_is_current(v, refs, "old"));
	assert_true(version_is_current(v, refs, "new"));
	assert_int_equal(version_load(f->store, refs, "new", &moved), 0);
	assert_true(version_same(v, moved));
	version_put(moved);
	publish(f->store, "new", "abc", 3);
	assert_int_equal(version_load(f->store, refs, "new", &moved), 0);
	assert_false(version_same(v, moved));
	version_put(moved);
	version_put(v);
}

/* An inode number is free for the next file: only a look inside tells. */
static void versions_in_quick_succession_are_told_apart(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);

	for (unsigned i = 0; i < 200; i++) {
		uint8_t byte = (uint8_t)i;
		struct version *v;

		assert_int_equal(try_publish(f->store, "file", &byte, 1, &v),
				 0);
		assert_true(version_is_current(v, refs, "file"));
		byte++;
		publish(f->store, "file", &byte, 1);
		byte++;
		publish(f->store, "file", &byte, 1);
		assert_false(version_is_current(v, refs, "file"));
		version_put(v);
	}
}

static void republishing_changes_attributes_only(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	static const size_t sizes[] = { 10, 100000 };

	for (size_t i = 0; i < 2; i++) {
		AUTO_FREE uint8_t *bytes = filled(sizes[i], i, 256);
		struct publication p = { .dir = refs,
					 .name = "file",
					 .content = -1,
					 .meta = { .mode = 0400, .ino = 9 } };
		uint64_t packs;
		struct version *old;
		struct version *v;

		assert_int_equal(
			try_publish(f->store, "file", bytes, sizes[i], &old),
			0);
		packs = measured(f->store).packs;
		assert_int_equal(store_republish(f->store, old, &p, &v), 0);
		assert_int_equal(version_meta(v)->mode, 0400);
		assert_int_equal(version_meta(v)->ino, 9);
		assert_memory_equal(&version_meta(v)->digest,
				    &version_meta(old)->digest,
				    sizeof(struct digest));
		version_put(v);
		assert_reads(f->store, "file", bytes, sizes[i]);
		p.exclusive = true;
		assert_int_equal(store_republish(f->store, old, &p, &v),
				 -EEXIST);
		version_put(old);
		assert_int_equal(measured(f->store).packs, packs);
	}
}

static void durable_publication_is_the_same_to_readers(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(200000, 11, 64);
	AUTO_CLOSE int fd = content_file(bytes, 200000);
	struct publication p = {
		.dir = store_refs(f->store),
		.name = "file",
		.content = fd,
		.durable = true,
	};
	struct version *v;

	for (int journal = 0; journal < 2; journal++) {
		f->store->has_journal = journal;
		for (size_t size = 20; size <= 200000; size *= 100) {
			p.meta.size = size;
			assert_int_equal(store_publish(f->store, &p, &v), 0);
			version_put(v);
			assert_reads(f->store, "file", bytes, size);
		}
		assert_int_equal(store_publish(f->store, &p, &v), 0);
		version_put(v);
		assert_int_equal(measured(f->store).packs, 1);
		remove_packs(f);
	}
}

static void nothing_is_left_in_tmp(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = filled(100000, 12, 256);
	char path[PATH_MAX];

	publish(f->store, "file", bytes, 100000);
	publish(f->store, "file", bytes, 100);
	snprintf(path, sizeof(path), "%s/tmp", f->path);
	assert_int_equal(rmdir(path), 0);
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(content_of_any_size_is_read_back_exactly),
		TEST(a_large_file_is_read_back_after_reopening),
		TEST(any_part_can_be_read),
		TEST(attributes_and_hashes_are_kept),
		TEST(the_same_content_again_adds_no_pack),
		TEST(another_mount_shares_what_came_after_it_was_opened),
		TEST(repeated_chunks_within_a_file_are_stored_once),
		TEST(contents_with_one_digest_are_both_kept),
		TEST(exclusive_publication_keeps_what_is_there),
		TEST(a_removed_directory_takes_no_publication),
		TEST(a_file_shorter_than_it_says_is_refused),
		TEST(a_version_stays_readable_when_its_name_goes),
		TEST(a_moved_manifest_is_still_its_version),
		TEST(versions_in_quick_succession_are_told_apart),
		TEST(republishing_changes_attributes_only),
		TEST(durable_publication_is_the_same_to_readers),
		TEST(nothing_is_left_in_tmp),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
