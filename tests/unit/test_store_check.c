/* SPDX-License-Identifier: Apache-2.0 */
/* Every kind of problem is found, told once, and mended without loss. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
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

#include "codec/pack.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/check.h"
#include "tests/unit/reseal.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 200000, KINDS = PROBLEM_UNCHECKED + 1, MANIFEST_VERSION_AT = 8 };

static const char manifest[] = "refs/default/file";
static const struct check_options look = { .repair = false };
static const struct check_options read_all = { .read_data = true };
static const struct check_options repair = { .repair = true };
static const struct check_options repair_all = { .repair = true,
						 .read_data = true };

/* What a check told. */
struct notes {
	struct check_listener listener; /* first: it is what others see of it */
	size_t found[KINDS];
	size_t repaired[KINDS];
	char path[PATH_MAX]; /* of the last problem */
	char what[256];
};

static void found(struct check_listener *listener,
		  const struct problem *problem)
{
	struct notes *notes = (struct notes *)listener;

	notes->found[problem->kind]++;
	notes->repaired[problem->kind] += problem->repaired;
	snprintf(notes->path, sizeof(notes->path), "%s", problem->path);
	snprintf(notes->what, sizeof(notes->what), "%s", problem->what);
}

static struct check_counts check(const struct fixture *f,
				 const struct check_options *options,
				 struct notes *notes)
{
	const struct store_config config = { .keep_damaged = !options->repair };
	struct check_counts counts;
	struct store *store;
	char why[256];

	*notes = (struct notes){ .listener = { .found = found } };
	assert_int_equal(store_open(f->path, &config, &store, why, sizeof(why)),
			 0);
	assert_int_equal(store_check(store, options, &notes->listener, &counts),
			 0);
	store_close(store);
	return counts;
}

static void assert_clean(const struct fixture *f)
{
	struct notes notes;

	assert_int_equal(check(f, &read_all, &notes).problems, 0);
}

/* One problem, of this kind; nothing is touched unless it is asked for. */
static void assert_found(const struct fixture *f,
			 const struct check_options *options,
			 enum problem_kind kind)
{
	struct notes notes;
	struct check_counts counts = check(f, options, &notes);

	assert_int_equal(counts.problems, 1);
	assert_int_equal(counts.repaired, 0);
	assert_int_equal(notes.found[kind], 1);
	assert_int_equal(counts.quarantined, 0);
}

static void assert_repaired(const struct fixture *f,
			    const struct check_options *options,
			    enum problem_kind kind)
{
	struct notes notes;
	struct check_counts counts = check(f, options, &notes);

	assert_int_equal(notes.repaired[kind], 1);
	assert_int_equal(counts.repaired, counts.problems);
	assert_clean(f);
}

/* A file with its checksums made right again after a change. */
static void edit(const struct fixture *f, const char *path, size_t at,
		 void (*reseal)(uint8_t *bytes, size_t size))
{
	size_t size = file_size(f, path);
	AUTO_FREE uint8_t *bytes = malloc(size);
	char full[PATH_MAX];
	AUTO_CLOSE int fd = -1;

	snprintf(full, sizeof(full), "%s/%s", f->path, path);
	fd = open(full, O_RDWR | O_CLOEXEC);
	assert_true(fd >= 0);
	assert_non_null(bytes);
	assert_int_equal(fd_read_at(fd, bytes, size, 0), 0);
	bytes[at]++;
	reseal(bytes, size);
	assert_int_equal(fd_write_at(fd, bytes, size, 0), 0);
}

static uint8_t *published(const struct fixture *f, uint64_t seed)
{
	uint8_t *bytes = malloc(SIZE);

	assert_non_null(bytes);
	fill(bytes, SIZE, seed, 256);
	publish(f->store, "file", bytes, SIZE);
	return bytes;
}

static void a_sound_store_is_clean_and_counted(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	struct check_counts counts;
	struct notes notes;

	publish(f->store, "same", bytes, SIZE);
	publish(f->store, "tiny", "x", 1);
	assert_int_equal(mkdirat(store_refs(f->store), "dir", 0700), 0);
	assert_int_equal(symlinkat("x", store_refs(f->store), "link"), 0);
	counts = check(f, &read_all, &notes);
	assert_int_equal(counts.problems + counts.unchecked, 0);
	assert_int_equal(counts.files, 3);
	assert_int_equal(counts.directories, 2);
	assert_int_equal(counts.symlinks, 1);
	assert_int_equal(counts.packs, 1);
	assert_int_equal(counts.unused_packs, 0);
}

static void a_pack_without_use_is_counted_and_no_problem(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	struct check_counts counts;
	struct notes notes;

	remove_file(f, manifest);
	counts = check(f, &look, &notes);
	assert_int_equal(counts.problems, 0);
	assert_int_equal(counts.unused_packs, 1);
}

static void a_damaged_manifest_goes_to_quarantine(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);

	flip_byte(f, manifest, 40);
	assert_found(f, &look, PROBLEM_DAMAGED);
	assert_repaired(f, &repair, PROBLEM_DAMAGED);
	assert_false(file_exists(f, manifest));
}

static void what_is_newer_stays(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	struct notes notes;

	edit(f, manifest, MANIFEST_VERSION_AT, reseal_manifest);
	assert_found(f, &look, PROBLEM_NEWER);
	assert_int_equal(check(f, &repair, &notes).repaired, 0);
	assert_true(file_exists(f, manifest));
}

/* The header of a pack alone is resealed. */
static void reseal_header(uint8_t *bytes, size_t size)
{
	(void)size;
	reseal_frame(bytes, PACK_HEADER_SIZE);
}

static void a_file_in_a_newer_pack_stays_for_newer_programs(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	char pack[PACK_NAME_SIZE];
	struct check_counts counts;
	struct notes notes;

	assert_true(first_pack(f, pack));
	edit(f, pack, MANIFEST_VERSION_AT, reseal_header);
	counts = check(f, &repair, &notes);
	assert_int_equal(notes.found[PROBLEM_NEWER], 1);
	assert_int_equal(notes.found[PROBLEM_DANGLING], 1);
	assert_int_equal(counts.repaired, 0);
	assert_true(file_exists(f, manifest));
	assert_true(file_exists(f, pack));
}

static void a_file_without_its_pack_dangles(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);

	remove_packs(f);
	assert_found(f, &look, PROBLEM_DANGLING);
	assert_repaired(f, &repair, PROBLEM_DANGLING);
}

static void damage_at_either_end_of_a_pack_is_found(void **state)
{
	struct fixture *f = *state;
	char pack[PACK_NAME_SIZE];
	struct notes notes;

	for (int i = 0; i < 3; i++) {
		AUTO_FREE uint8_t *bytes = published(f, 1);
		size_t size;

		assert_true(first_pack(f, pack));
		size = file_size(f, pack);
		flip_byte(f, pack,
			  (const size_t[]){ 20, size - 100, size - 20 }[i]);
		check(f, &look, &notes);
		assert_int_equal(notes.found[PROBLEM_DAMAGED], 1);
		assert_int_equal(notes.found[PROBLEM_DANGLING], 1);
		assert_repaired(f, &repair, PROBLEM_DAMAGED);
		assert_false(file_exists(f, pack));
		fixture_reopen(f);
	}
}

static void other_content_is_told_by_its_sha256(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	/* The SHA-256 is 72 bytes into META, the first section. */
	size_t at = 32 + 16 + 72;

	struct notes notes;

	edit(f, manifest, at, reseal_manifest);
	assert_int_equal(check(f, &look, &notes).problems, 0);
	assert_found(f, &read_all, PROBLEM_CONTENT);
	assert_repaired(f, &repair_all, PROBLEM_CONTENT);
}

static void whole_blocks_of_a_damaged_pack_are_kept(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	char pack[PACK_NAME_SIZE];
	struct notes notes;

	assert_true(first_pack(f, pack));
	/* Of the same blocks, but for the last: that is in another pack. */
	publish(f->store, "part", bytes, SIZE / 2);
	flip_byte(f, pack, PACK_HEADER_SIZE + SIZE - 10);
	assert_int_equal(check(f, &look, &notes).problems, 0);
	check(f, &read_all, &notes);
	assert_int_equal(notes.found[PROBLEM_BLOCK], 1);
	assert_int_equal(notes.found[PROBLEM_DANGLING], 1);
	assert_repaired(f, &repair_all, PROBLEM_BLOCK);
	fixture_reopen(f);
	assert_reads(f->store, "part", bytes, SIZE / 2);
	assert_int_equal(try_read(f->store, "file", bytes, SIZE), -ENOENT);
	assert_false(file_exists(f, pack));
}

static void a_pack_that_is_needed_comes_back_from_trash(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	char pack[PACK_NAME_SIZE];

	assert_true(first_pack(f, pack));
	assert_int_equal(mkdirat(store_root(f->store), "trash/day", 0700), 0);
	assert_int_equal(renameat(store_root(f->store), pack,
				  store_root(f->store), "trash/day/any"),
			 0);
	assert_found(f, &look, PROBLEM_DANGLING);
	assert_repaired(f, &repair, PROBLEM_DANGLING);
	assert_true(file_exists(f, pack));
	fixture_reopen(f);
	assert_reads(f->store, "file", bytes, SIZE);
}

static void a_deleted_file_still_uses_its_packs(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	struct check_counts counts;
	struct notes notes;

	assert_int_equal(renameat(store_root(f->store), manifest,
				  store_root(f->store), "trash/any"),
			 0);
	counts = check(f, &look, &notes);
	assert_int_equal(counts.problems, 0);
	assert_int_equal(counts.unused_packs, 0);
	assert_int_equal(counts.trashed, 1);
}

static void what_does_not_belong_there_is_moved_away(void **state)
{
	struct fixture *f = *state;
	int root = store_root(f->store);
	struct check_counts counts;
	struct notes notes;

	publish(f->store, "tiny", "x", 1);
	assert_int_equal(mkfifoat(root, "refs/default/fifo", 0600), 0);
	assert_int_equal(mkfifoat(root, "refs/fifo", 0600), 0);
	assert_int_equal(symlinkat("x", root, "packs/link"), 0);
	assert_int_equal(mkdirat(root, "packs/00", 0700), 0);
	assert_int_equal(mkdirat(root, "packs/00/dir", 0700), 0);
	counts = check(f, &look, &notes);
	assert_int_equal(counts.problems, 4);
	assert_int_equal(notes.found[PROBLEM_KIND], 2);
	assert_int_equal(notes.found[PROBLEM_NAME], 2);
	assert_int_equal(check(f, &repair, &notes).repaired, 4);
	assert_clean(f);
	assert_reads(f->store, "tiny", "x", 1);
}

static void modes_are_narrowed(void **state)
{
	struct fixture *f = *state;
	struct stat st;

	publish(f->store, "file", "x", 1);
	assert_int_equal(fchmodat(store_refs(f->store), "file", 0666, 0), 0);
	assert_found(f, &look, PROBLEM_MODE);
	assert_repaired(f, &repair, PROBLEM_MODE);
	assert_int_equal(fstatat(store_refs(f->store), "file", &st, 0), 0);
	assert_int_equal(st.st_mode & 07777, 0644);
	assert_reads(f->store, "file", "x", 1);
}

static void files_of_others_are_named_and_left(void **state)
{
	struct fixture *f = *state;
	struct notes notes;

	if (geteuid() != 0)
		skip();
	publish(f->store, "file", "x", 1);
	assert_int_equal(
		fchownat(store_refs(f->store), "file", 4711, (gid_t)-1, 0), 0);
	assert_found(f, &look, PROBLEM_UNTRUSTED);
	assert_int_equal(check(f, &repair, &notes).repaired, 0);
	assert_string_equal(notes.path, manifest);
	assert_non_null(strstr(notes.what, "4711"));
	assert_true(file_exists(f, manifest));
}

static void old_drafts_are_removed_and_young_ones_stay(void **state)
{
	struct fixture *f = *state;
	static const char old[] = "draft-0123456789abcdef";
	static const char young[] = "draft-0123456789abcdee";
	const struct timespec times[] = {
		{ .tv_sec = time(NULL) - 100000 },
		{ .tv_sec = time(NULL) - 100000 },
	};
	int tmp = store_tmp(f->store);

	close(openat(tmp, old, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	close(openat(tmp, young, O_CREAT | O_WRONLY | O_CLOEXEC, 0600));
	assert_int_equal(utimensat(tmp, old, times, 0), 0);
	assert_found(f, &look, PROBLEM_DRAFT);
	assert_repaired(f, &repair, PROBLEM_DRAFT);
	assert_int_equal(faccessat(tmp, old, F_OK, 0), -1);
	assert_int_equal(faccessat(tmp, young, F_OK, 0), 0);
}

/* What another program does while a check looks at the store. */
static void *publish_soon(void *argument)
{
	const struct timespec pause = { .tv_nsec = 500000000 };

	nanosleep(&pause, NULL);
	publish(argument, "file", "new", 3);
	return NULL;
}

static void what_is_replaced_meanwhile_is_not_told(void **state)
{
	struct fixture *f = *state;
	struct notes notes;
	pthread_t thread;

	publish(f->store, "file", "old", 3);
	flip_byte(f, manifest, 40);
	assert_int_equal(pthread_create(&thread, NULL, publish_soon, f->store),
			 0);
	assert_int_equal(check(f, &repair, &notes).problems, 0);
	pthread_join(thread, NULL);
	assert_reads(f->store, "file", "new", 3);
}

static void a_moved_block_is_fine_when_the_whole_is(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = published(f, 1);
	struct check_counts counts;
	struct notes notes;

	/* The same blocks, in a pack of another name. */
	assert_int_equal(renameat(store_root(f->store), manifest,
				  store_root(f->store), "stats/kept"),
			 0);
	publish(f->store, "other", bytes, SIZE);
	remove_packs(f);
	fixture_reopen(f);
	publish(f->store, "other", bytes, SIZE);
	assert_int_equal(renameat(store_root(f->store), "stats/kept",
				  store_root(f->store), manifest),
			 0);
	counts = check(f, &look, &notes);
	assert_int_equal(counts.problems, 0);
	assert_int_equal(counts.unused_packs, 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
#define TEST(name)                                                             \
	cmocka_unit_test_setup_teardown(name, fixture_setup, fixture_teardown)
		TEST(a_sound_store_is_clean_and_counted),
		TEST(a_pack_without_use_is_counted_and_no_problem),
		TEST(a_damaged_manifest_goes_to_quarantine),
		TEST(what_is_newer_stays),
		TEST(a_file_in_a_newer_pack_stays_for_newer_programs),
		TEST(a_file_without_its_pack_dangles),
		TEST(damage_at_either_end_of_a_pack_is_found),
		TEST(other_content_is_told_by_its_sha256),
		TEST(whole_blocks_of_a_damaged_pack_are_kept),
		TEST(a_pack_that_is_needed_comes_back_from_trash),
		TEST(a_deleted_file_still_uses_its_packs),
		TEST(what_does_not_belong_there_is_moved_away),
		TEST(modes_are_narrowed),
		TEST(files_of_others_are_named_and_left),
		TEST(old_drafts_are_removed_and_young_ones_stay),
		TEST(what_is_replaced_meanwhile_is_not_told),
		TEST(a_moved_block_is_fine_when_the_whole_is),
#undef TEST
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
