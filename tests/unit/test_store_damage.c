/* SPDX-License-Identifier: Apache-2.0 */
/* Damage is a miss: exactly the bytes or ENOENT, and publishing again heals. */
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
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/identity.h"
#include "tests/unit/store_fixture.h"

/* Small, since every byte of what is stored has its turn. */
enum { SIZE = MANIFEST_INLINE_MAX + 1 };

static const char manifest[] = "refs/default/file";

static void remove_all(const struct fixture *f)
{
	remove_packs(f);
	unlinkat(store_refs(f->store), "file", 0);
}

/* Publishes, damages, looks, heals, looks. Whether the damage was a miss. */
static bool survives(struct fixture *f, const uint8_t *bytes, size_t size,
		     void (*damage)(struct fixture *f, size_t how), size_t how)
{
	int err;

	remove_all(f);
	publish(f->store, "file", bytes, size);
	if (how % 2)
		assert_reads(f->store, "file", bytes, size);
	damage(f, how);
	if (how % 3 == 0)
		fixture_reopen(f);
	err = try_read(f->store, "file", bytes, size);
	if (err)
		assert_int_equal(err, -ENOENT);
	publish(f->store, "file", bytes, size);
	assert_reads(f->store, "file", bytes, size);
	return err;
}

static void flip_in_pack(struct fixture *f, size_t how)
{
	char path[PACK_NAME_SIZE];

	assert_true(first_pack(f, path));
	flip_byte(f, path, how);
}

static void a_flipped_byte_of_a_pack_is_a_miss(void **state)
{
	struct fixture *f = *state;
	char path[PACK_NAME_SIZE];
	uint8_t bytes[SIZE];
	size_t size;

	fill(bytes, sizeof(bytes), 1, 2);
	publish(f->store, "file", bytes, sizeof(bytes));
	assert_true(first_pack(f, path));
	size = file_size(f, path);
	for (size_t i = 0; i < size; i++)
		assert_true(survives(f, bytes, sizeof(bytes), flip_in_pack, i));
}

static void flip_in_manifest(struct fixture *f, size_t how)
{
	flip_byte(f, manifest, how);
}

static void a_flipped_byte_of_a_manifest_is_a_miss(void **state)
{
	static const size_t sizes[] = { 0, 1000, SIZE };
	struct fixture *f = *state;
	uint8_t bytes[SIZE];

	fill(bytes, sizeof(bytes), 2, 256);
	for (size_t i = 0; i < 2; i++) {
		size_t size;

		publish(f->store, "file", bytes, sizes[i]);
		size = file_size(f, manifest);
		for (size_t at = 0; at < size; at++)
			assert_true(survives(f, bytes, sizes[i],
					     flip_in_manifest, at));
	}
}

static void cut_pack(struct fixture *f, size_t how)
{
	char path[PACK_NAME_SIZE];

	assert_true(first_pack(f, path));
	cut_file(f, path, how);
}

static void a_pack_cut_anywhere_is_a_miss(void **state)
{
	struct fixture *f = *state;
	char path[PACK_NAME_SIZE];
	uint8_t bytes[SIZE];
	size_t size;

	fill(bytes, sizeof(bytes), 3, 256);
	publish(f->store, "file", bytes, sizeof(bytes));
	assert_true(first_pack(f, path));
	size = file_size(f, path);
	for (size_t i = 0; i < size; i += 1 + i / 20)
		assert_true(survives(f, bytes, sizeof(bytes), cut_pack, i));
	assert_true(survives(f, bytes, sizeof(bytes), cut_pack, size - 1));
	assert_true(survives(f, bytes, sizeof(bytes), cut_pack, size + 1));
}

static void cut_manifest(struct fixture *f, size_t how)
{
	cut_file(f, manifest, how);
}

static void a_manifest_cut_anywhere_is_a_miss(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[SIZE];
	size_t size;

	fill(bytes, sizeof(bytes), 4, 256);
	publish(f->store, "file", bytes, sizeof(bytes));
	size = file_size(f, manifest);
	for (size_t i = 0; i < size; i++)
		assert_true(survives(f, bytes, sizeof(bytes), cut_manifest, i));
	assert_true(survives(f, bytes, sizeof(bytes), cut_manifest, size + 1));
}

static void remove_pack(struct fixture *f, size_t how)
{
	char path[PACK_NAME_SIZE];

	(void)how;
	assert_true(first_pack(f, path));
	remove_file(f, path);
}

static void a_deleted_pack_is_a_miss(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[SIZE];

	fill(bytes, sizeof(bytes), 5, 256);
	for (size_t i = 0; i < 6; i++)
		assert_true(survives(f, bytes, sizeof(bytes), remove_pack, i));
}

/* A pack that is damaged as a whole is moved away, and so is the manifest. */
static void what_is_damaged_goes_to_quarantine_with_a_reason(void **state)
{
	struct fixture *f = *state;
	char path[PACK_NAME_SIZE];
	uint8_t bytes[SIZE];

	fill(bytes, sizeof(bytes), 6, 256);
	publish(f->store, "file", bytes, sizeof(bytes));
	assert_true(first_pack(f, path));
	flip_byte(f, path, file_size(f, path) - 1);
	fixture_reopen(f);
	assert_int_equal(try_read(f->store, "file", bytes, sizeof(bytes)),
			 -ENOENT);
	assert_false(file_exists(f, path));
	assert_false(file_exists(f, manifest));
	assert_int_equal(measured(f->store).quarantined, 2);
}

static void a_pack_with_one_bad_block_stays_for_the_others(void **state)
{
	enum { LARGE = 400000, TAIL = 200000 };
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = malloc(LARGE);
	char path[PACK_NAME_SIZE];
	uint64_t stored;

	fill(bytes, LARGE, 7, 256);
	publish(f->store, "file", bytes, LARGE);
	assert_true(first_pack(f, path));
	publish(f->store, "tail", bytes + LARGE - TAIL, TAIL);
	flip_byte(f, path, 1000);
	assert_int_equal(try_read(f->store, "file", bytes, LARGE), -ENOENT);
	assert_true(file_exists(f, path));
	assert_reads(f->store, "tail", bytes + LARGE - TAIL, TAIL);
	stored = measured(f->store).pack_bytes;
	publish(f->store, "file", bytes, LARGE);
	assert_reads(f->store, "file", bytes, LARGE);
	assert_true(measured(f->store).pack_bytes - stored < LARGE / 4);
}

static void
a_lost_pack_is_replaced_by_another_with_the_same_blocks(void **state)
{
	struct fixture *f = *state;
	struct store *alone = fixture_open(f);
	char first[PACK_NAME_SIZE];
	uint8_t bytes[SIZE];

	fill(bytes, sizeof(bytes), 8, 256);
	publish(f->store, "file", bytes, sizeof(bytes));
	assert_true(first_pack(f, first));
	cut_file(f, first, 10);
	publish(f->store, "other", bytes, sizeof(bytes));
	assert_reads(alone, "file", bytes, sizeof(bytes));
	assert_reads(alone, "other", bytes, sizeof(bytes));
	store_close(alone);
}

/* Bytes that this process has read, by all read calls. */
static uint64_t bytes_read(void)
{
	FILE *io = fopen("/proc/self/io", "re");
	unsigned long long count = 0;

	assert_non_null(io);
	assert_int_equal(fscanf(io, "rchar: %llu", &count), 1);
	fclose(io);
	return count;
}

static void a_pack_is_verified_once_and_again_when_it_changed(void **state)
{
	enum { LARGE = 2000000 };
	const struct timespec settle = { .tv_sec =
						 IDENTITY_SETTLE_SECONDS + 2 };
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	AUTO_FREE uint8_t *bytes = malloc(LARGE);
	char path[PACK_NAME_SIZE];
	uint64_t before;
	struct version *v;

	fill(bytes, LARGE, 9, 256);
	assert_int_equal(try_publish(f->store, "file", bytes, LARGE, &v), 0);
	nanosleep(&settle, NULL);
	before = bytes_read();
	assert_int_equal(version_verify(f->store, v, refs, "file"), 0);
	assert_true(bytes_read() - before >= LARGE);
	before = bytes_read();
	for (int i = 0; i < 20; i++)
		assert_int_equal(version_verify(f->store, v, refs, "file"), 0);
	version_put(v);
	assert_int_equal(version_load(f->store, refs, "file", &v), 0);
	assert_int_equal(version_verify(f->store, v, refs, "file"), 0);
	assert_true(bytes_read() - before < LARGE / 10);

	assert_true(first_pack(f, path));
	flip_byte(f, path, 5000);
	assert_int_equal(version_verify(f->store, v, refs, "file"), -ENOENT);
	version_put(v);
}

/* The first look is not to be relied on while the clock has not moved on. */
static void a_change_in_the_same_tick_is_seen(void **state)
{
	struct fixture *f = *state;
	uint8_t bytes[SIZE];

	fill(bytes, sizeof(bytes), 10, 256);
	for (size_t i = 0; i < 200; i++) {
		char path[PACK_NAME_SIZE];

		remove_all(f);
		publish(f->store, "file", bytes, sizeof(bytes));
		assert_reads(f->store, "file", bytes, sizeof(bytes));
		assert_true(first_pack(f, path));
		flip_byte(f, path, 1000 + i);
		assert_int_equal(
			try_read(f->store, "file", bytes, sizeof(bytes)),
			-ENOENT);
	}
}

static void other_kinds_of_files_are_told(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	struct version *v;

	assert_int_equal(mkdirat(refs, "dir", 0700), 0);
	assert_int_equal(symlinkat("dir", refs, "link"), 0);
	assert_int_equal(mkfifoat(refs, "fifo", 0600), 0);
	assert_int_equal(version_load(f->store, refs, "dir", &v), -EISDIR);
	assert_int_equal(version_load(f->store, refs, "link", &v), -ELOOP);
	assert_int_equal(version_load(f->store, refs, "fifo", &v), -ENXIO);
	assert_int_equal(version_load(f->store, refs, "none", &v), -ENOENT);
	assert_true(file_exists(f, "refs/default/fifo"));
}

static void a_stranger_is_not_served(void **state)
{
	enum { STRANGER = 12345 };
	struct fixture *f = *state;
	int refs = store_refs(f->store);
	char path[PACK_NAME_SIZE];
	char full[PATH_MAX];
	uint8_t bytes[SIZE];

	if (geteuid() != 0)
		skip();
	fill(bytes, sizeof(bytes), 11, 256);
	publish(f->store, "file", bytes, sizeof(bytes));
	assert_int_equal(fchownat(refs, "file", STRANGER, 0, 0), 0);
	assert_int_equal(try_read(f->store, "file", bytes, sizeof(bytes)),
			 -ENOENT);
	assert_true(file_exists(f, manifest));
	assert_int_equal(fchownat(refs, "file", 0, 0, 0), 0);
	assert_reads(f->store, "file", bytes, sizeof(bytes));

	assert_true(first_pack(f, path));
	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	assert_int_equal(chown(full, STRANGER, 0), 0);
	publish(f->store, "other", bytes, sizeof(bytes));
	assert_int_equal(measured(f->store).packs, 2);
	assert_true(file_exists(f, path));
}

#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)

int main(void)
{
	const struct CMUnitTest tests[] = {
		TEST(a_flipped_byte_of_a_pack_is_a_miss),
		TEST(a_flipped_byte_of_a_manifest_is_a_miss),
		TEST(a_pack_cut_anywhere_is_a_miss),
		TEST(a_manifest_cut_anywhere_is_a_miss),
		TEST(a_deleted_pack_is_a_miss),
		TEST(what_is_damaged_goes_to_quarantine_with_a_reason),
		TEST(a_pack_with_one_bad_block_stays_for_the_others),
		TEST(a_lost_pack_is_replaced_by_another_with_the_same_blocks),
		TEST(a_pack_is_verified_once_and_again_when_it_changed),
		TEST(a_change_in_the_same_tick_is_seen),
		TEST(other_kinds_of_files_are_told),
		TEST(a_stranger_is_not_served),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
