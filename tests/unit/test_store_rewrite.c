/* SPDX-License-Identifier: Apache-2.0 */
/* Packs of which little is needed are rewritten, and nobody notices. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/resource.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/mark.h"
#include "fs/store/rewrite.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "tests/unit/store_collecting.h"

/* A file, the end of which is another's in the file that is kept. */
enum { SIZE = 400000, SHARED = 100000 };

static const struct collect_options rewriting = {
	.intents = COLLECT_INTENT_SECONDS,
	.rewrite = COLLECT_REWRITE_PERCENT,
};

static uint8_t *content(uint64_t begin, uint64_t end)
{
	uint8_t *bytes = malloc(SIZE);

	assert_non_null(bytes);
	fill(bytes, SIZE, end, 256);
	fill(bytes, SHARED, begin, 256);
	return bytes;
}

static void put(struct store *store, const char *name, uint64_t begin,
		uint64_t end)
{
	AUTO_FREE uint8_t *bytes = content(begin, end);

	publish(store, name, bytes, SIZE);
}

static void assert_shows(struct store *store, const char *name, uint64_t begin,
			 uint64_t end)
{
	AUTO_FREE uint8_t *bytes = content(begin, end);

	assert_reads(store, name, bytes, SIZE);
}

/* What was published before is older than what begins now. */
static void a_tick(void)
{
	const struct timespec tick = { .tv_nsec = 30 * 1000 * 1000 };

	nanosleep(&tick, NULL);
}

/* `name` needs a quarter of a pack, and a pack of its own. */
static void put_sharing(struct store *store, const char *name, uint64_t seed)
{
	put(store, "first", seed, seed + 1);
	put(store, name, seed, seed + 2);
	assert_int_equal(unlinkat(store_refs(store), "first", 0), 0);
	a_tick();
}

static struct manifest_meta meta_of(struct store *store, const char *name)
{
	struct manifest_meta meta;
	struct version *v;

	assert_int_equal(version_load(store, store_refs(store), name, &v), 0);
	meta = *version_meta(v);
	version_put(v);
	return meta;
}

static ino_t inode(struct store *store, const char *name)
{
	struct stat st;

	assert_int_equal(fstatat(store_refs(store), name, &st, 0), 0);
	return st.st_ino;
}

static void what_is_needed_is_in_a_new_pack(void **state)
{
	struct fixture *f = *state;
	struct collect_result r;
	struct store_measures m;

	put_sharing(f->store, "kept", 10);
	r = collected(f->store, &rewriting);
	assert_int_equal(r.rewritten_packs, 1);
	assert_int_equal(r.deleted_packs, 1);
	assert_string_equal(r.not_rewritten, "");
	m = measured(f->store);
	assert_int_equal(m.packs, 2);
	assert_int_equal(m.blocks, m.references);
	assert_int_equal(m.block_bytes, SIZE);
	assert_shows(f->store, "kept", 10, 12);
	fixture_reopen(f);
	assert_shows(f->store, "kept", 10, 12);
	assert_int_equal(measured(f->store).quarantined, 0);
	assert_int_equal(count_below(f, "intents"), 0);
	assert_int_equal(count_below(f, "tmp"), 0);
	a_tick();
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 0);
}

static void it_is_the_same_file(void **state)
{
	struct fixture *f = *state;
	struct manifest_meta before, after;
	struct publication p = { .dir = store_refs(f->store),
				 .name = "kept.idx" };
	const char *const names[] = { "one.om", "other.om" };
	const char *const *left;
	struct version *v, *changed;
	size_t count;

	put_sharing(f->store, p.name, 20);
	assert_int_equal(version_load(f->store, p.dir, p.name, &v), 0);
	p.meta = *version_meta(v);
	p.meta.ino = 4711;
	p.meta.mode = 0640;
	p.meta.mtime_sec = 1234567890;
	p.meta.mtime_nsec = 987654321;
	p.meta.kind = 3;
	p.meta.verdict = VERDICT_SOUND;
	p.names = names;
	p.name_count = 2;
	assert_int_equal(store_republish(f->store, v, &p, &changed), 0);
	version_put(v);
	version_put(changed);
	before = meta_of(f->store, p.name);
	a_tick();
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 1);
	after = meta_of(f->store, p.name);
	assert_memory_equal(&before, &after, sizeof(before));
	assert_int_equal(version_load(f->store, p.dir, p.name, &v), 0);
	left = version_names(v, &count);
	assert_int_equal(count, 2);
	assert_string_equal(left[1], "other.om");
	version_put(v);
}

static void a_dry_run_says_what_would_be_won(void **state)
{
	struct collect_options dry = rewriting;
	struct fixture *f = *state;
	struct collect_result r;
	ino_t before;

	dry.dry_run = true;
	put_sharing(f->store, "kept", 30);
	before = inode(f->store, "kept");
	r = collected(f->store, &dry);
	assert_int_equal(r.rewritten_packs, 1);
	assert_in_range(r.rewritten_bytes, SIZE - SHARED, SIZE);
	assert_int_equal(inode(f->store, "kept"), before);
	assert_int_equal(measured(f->store).packs, 2);
	assert_int_equal(collected(f->store, &rewriting).rewritten_bytes,
			 r.rewritten_bytes);
}

static void packs_that_are_needed_enough_stay(void **state)
{
	struct collect_options o = rewriting;
	struct fixture *f = *state;

	put_sharing(f->store, "kept", 40);
	o.rewrite = 90; /* three quarters are dead */
	assert_int_equal(collected(f->store, &o).rewritten_packs, 0);
	o.rewrite = 0;
	assert_int_equal(collected(f->store, &o).rewritten_packs, 0);
	o = rewriting;
	o.grace = 1000;
	assert_int_equal(collected(f->store, &o).rewritten_packs, 0);
	o.grace = 0;
	o.rewrite = 60;
	assert_int_equal(collected(f->store, &o).rewritten_packs, 1);
}

static void many_packs_become_one(void **state)
{
	struct fixture *f = *state;
	char name[16];

	for (uint64_t i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "kept%u", (unsigned)i);
		put_sharing(f->store, name, 100 + 10 * i);
	}
	assert_int_equal(measured(f->store).packs, 10);
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 5);
	assert_int_equal(measured(f->store).packs, 6);
	for (uint64_t i = 0; i < 5; i++) {
		snprintf(name, sizeof(name), "kept%u", (unsigned)i);
		assert_shows(f->store, name, 100 + 10 * i, 102 + 10 * i);
	}
}

static void all_namespaces_are_rewritten(void **state)
{
	const struct store_config config = { .space = "elsewhere" };
	struct fixture *f = *state;
	struct store *other;
	char why[256];

	assert_int_equal(store_open(f->path, &config, &other, why, sizeof(why)),
			 0);
	assert_int_equal(mkdirat(store_refs(other), "dir", 0700), 0);
	put_sharing(other, "dir/kept", 50);
	assert_int_equal(collected(f->store, &rewriting).deleted_packs, 1);
	assert_shows(other, "dir/kept", 50, 52);
	store_close(other);
}

/* Nobody rewrites what names `name`'s first pack. */
static void assert_stays(struct fixture *f, const struct collect_options *o)
{
	ino_t before = inode(f->store, "kept");

	a_tick();
	assert_int_equal(collected(f->store, o).rewritten_packs, 0);
	assert_int_equal(inode(f->store, "kept"), before);
	assert_shows(f->store, "kept", 60, 62);
}

static void what_another_published_keeps_its_pack(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	put_sharing(f->store, "kept", 60);
	put(f->store, "other", 60, 64);
	assert_int_equal(
		fchownat(store_refs(f->store), "other", 12345, 12345, 0), 0);
	assert_stays(f, &rewriting);
}

static void two_names_of_one_file_stay_that(void **state)
{
	struct fixture *f = *state;
	int refs = store_refs(f->store);

	put_sharing(f->store, "kept", 60);
	assert_int_equal(linkat(refs, "kept", refs, "other", 0), 0);
	assert_stays(f, &rewriting);
	assert_int_equal(inode(f->store, "other"), inode(f->store, "kept"));
}

static void what_can_be_undeleted_keeps_its_pack(void **state)
{
	struct collect_options keep = rewriting;
	struct trash_restored back = { .files = 0 };
	struct fixture *f = *state;

	keep.keep = 1000;
	put_sharing(f->store, "kept", 60);
	put(f->store, "other.om", 60, 64);
	assert_int_equal(
		trash_delete(f->store, store_refs(f->store), "other.om"), 0);
	assert_stays(f, &keep);
	assert_int_equal(trash_restore(f->store, "other.om", &back), 0);
	assert_shows(f->store, "other.om", 60, 64);
}

static void what_is_being_published_keeps_its_pack(void **state)
{
	struct fixture *f = *state;

	put_sharing(f->store, "kept", 60);
	put(f->store, "other", 60, 64);
	assert_int_equal(renameat(store_refs(f->store), "other",
				  f->store->intents, "draft-0123456789abcdef"),
			 0);
	assert_stays(f, &rewriting);
}

static void what_is_damaged_is_not_copied(void **state)
{
	struct fixture *f = *state;
	char path[PACK_NAME_SIZE];
	uint8_t bytes[SIZE];

	put(f->store, "first", 60, 61);
	assert_true(any_pack(f, path));
	put(f->store, "kept", 60, 62);
	assert_int_equal(unlinkat(store_refs(f->store), "first", 0), 0);
	flip_byte(f, path, 100); /* in the first block, which is needed */
	a_tick();
	fixture_reopen(f);
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 0);
	assert_true(file_exists(f, path));
	fill(bytes, SIZE, 1, 256);
	assert_int_equal(try_read(f->store, "kept", bytes, SIZE), -ENOENT);
}

static void what_nobody_needs_may_be_damaged(void **state)
{
	struct fixture *f = *state;
	char path[PACK_NAME_SIZE];

	put(f->store, "first", 60, 61);
	assert_true(any_pack(f, path));
	put(f->store, "kept", 60, 62);
	assert_int_equal(unlinkat(store_refs(f->store), "first", 0), 0);
	flip_byte(f, path, SIZE - 1000);
	a_tick();
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 1);
	assert_shows(f->store, "kept", 60, 62);
}

static void who_reads_is_not_disturbed(void **state)
{
	struct fixture *f = *state;
	AUTO_FREE uint8_t *bytes = content(70, 72);
	AUTO_FREE uint8_t *read = malloc(SIZE);
	struct store *other = fixture_open(f);
	struct version *held, *loaded;
	int refs = store_refs(other);

	assert_non_null(read);
	put_sharing(f->store, "kept", 70);
	assert_int_equal(version_load(other, refs, "kept", &held), 0);
	assert_int_equal(version_verify(other, held, refs, "kept"), 0);
	assert_int_equal(version_hold(other, held), 0);
	assert_int_equal(version_load(other, refs, "kept", &loaded), 0);
	assert_int_equal(collected(f->store, &rewriting).deleted_packs, 1);
	assert_int_equal(version_read(other, held, 0, read, SIZE), SIZE);
	assert_memory_equal(read, bytes, SIZE);
	version_let_go(other, held);
	version_put(held);
	/* Who was about to open it finds its blocks where they are now. */
	assert_int_equal(version_verify(other, loaded, refs, "kept"), 0);
	assert_int_equal(version_read(other, loaded, 0, read, SIZE), SIZE);
	assert_memory_equal(read, bytes, SIZE);
	version_put(loaded);
	assert_shows(other, "kept", 70, 72);
	store_close(other);
}

struct race {
	struct store *store;
	const char *name;
	uint64_t seed;
};

/* Once it was seen what is needed, and before anything is copied. */
static int publish_meanwhile(void *context, size_t files)
{
	const struct race *race = context;

	(void)files;
	put(race->store, race->name, 80, race->seed);
	return 0;
}

static void what_is_published_meanwhile_wins(void **state)
{
	struct fixture *f = *state;
	struct race races[] = { { .name = "kept", .seed = 81 },
				{ .name = "other", .seed = 82 } };

	for (size_t i = 0; i < 2; i++) {
		struct rewrite_options o = { .percent = 50,
					     .ticker = { publish_meanwhile,
							 &races[i], 0 } };
		struct rewrite_result r;

		put_sharing(f->store, "kept", 80);
		races[i].store = fixture_open(f);
		assert_int_equal(clock_ask(f->store, &o.begun), 0);
		o.before = o.begun.tv_sec + 1;
		assert_int_equal(store_rewrite(f->store, &o, &r), 0);
		assert_int_equal(r.packs, 1);
		assert_shows(f->store, races[i].name, 80, races[i].seed);
		if (i)
			assert_shows(f->store, "kept", 80, 82);
		collected(f->store, &collect_all);
		assert_shows(f->store, races[i].name, 80, races[i].seed);
		store_close(races[i].store);
	}
}

static int stop(void *context, size_t files)
{
	(void)context;
	(void)files;
	return -ENOSPC;
}

static void what_fails_changes_nothing(void **state)
{
	struct fixture *f = *state;
	struct rewrite_options o = { .percent = 50,
				     .ticker = { stop, NULL, 0 } };
	struct rewrite_result r;
	ino_t before;

	put_sharing(f->store, "kept", 90);
	before = inode(f->store, "kept");
	assert_int_equal(clock_ask(f->store, &o.begun), 0);
	o.before = o.begun.tv_sec + 1;
	assert_int_equal(store_rewrite(f->store, &o, &r), -ENOSPC);
	assert_string_equal(r.trouble, strerror(ENOSPC));
	assert_int_equal(inode(f->store, "kept"), before);
	assert_int_equal(measured(f->store).packs, 2);
}

/* A limit of files' sizes stands for the disk. */
static void a_full_disk_does_not_stop_the_collection(void **state)
{
	struct fixture *f = *state;
	struct rlimit limit, old;
	struct collect_result r;

	put_sharing(f->store, "kept", 90);
	put(f->store, "gone", 95, 96);
	assert_int_equal(unlinkat(store_refs(f->store), "gone", 0), 0);
	a_tick();
	assert_int_equal(getrlimit(RLIMIT_FSIZE, &old), 0);
	limit = old;
	limit.rlim_cur = SHARED / 2;
	signal(SIGXFSZ, SIG_IGN);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &limit), 0);
	r = collected(f->store, &rewriting);
	assert_int_equal(setrlimit(RLIMIT_FSIZE, &old), 0);
	assert_string_equal(r.not_rewritten, strerror(EFBIG));
	assert_int_equal(r.deleted_packs, 1);
	assert_shows(f->store, "kept", 90, 92);
	assert_int_equal(collected(f->store, &rewriting).rewritten_packs, 1);
	assert_shows(f->store, "kept", 90, 92);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(what_is_needed_is_in_a_new_pack),
		STORE_TEST(it_is_the_same_file),
		STORE_TEST(a_dry_run_says_what_would_be_won),
		STORE_TEST(packs_that_are_needed_enough_stay),
		STORE_TEST(many_packs_become_one),
		STORE_TEST(all_namespaces_are_rewritten),
		STORE_TEST(what_another_published_keeps_its_pack),
		STORE_TEST(two_names_of_one_file_stay_that),
		STORE_TEST(what_can_be_undeleted_keeps_its_pack),
		STORE_TEST(what_is_being_published_keeps_its_pack),
		STORE_TEST(what_is_damaged_is_not_copied),
		STORE_TEST(what_nobody_needs_may_be_damaged),
		STORE_TEST(who_reads_is_not_disturbed),
		STORE_TEST(what_is_published_meanwhile_wins),
		STORE_TEST(what_fails_changes_nothing),
		STORE_TEST(a_full_disk_does_not_stop_the_collection),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
