/* SPDX-License-Identifier: Apache-2.0 */
/* What is collected, and above all what is not. */
#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <pthread.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdatomic.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <time.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/collector.h"
#include "fs/store/pack_file.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "tests/unit/reseal.h"
#include "tests/unit/store_collecting.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 50000, SEED = 5, OPENS = 5000 };

/* A file of SIZE bytes that follow from the seed. */
static void publish_seed(struct store *store, const char *name, uint64_t seed)
{
	uint8_t bytes[SIZE];

	fill(bytes, SIZE, seed, 256);
	publish(store, name, bytes, SIZE);
}

static void assert_seed(struct store *store, const char *name, uint64_t seed)
{
	uint8_t bytes[SIZE];

	fill(bytes, SIZE, seed, 256);
	assert_reads(store, name, bytes, SIZE);
}

static void delete_name(struct store *store, const char *name)
{
	assert_int_equal(trash_delete(store, store_refs(store), name), 0);
}

static struct digest only_pack(const struct fixture *f)
{
	char path[PACK_NAME_SIZE];
	struct digest id;

	assert_true(any_pack(f, path));
	assert_int_equal(digest_from_text(strrchr(path, '/') + 1, &id), 0);
	return id;
}

static void a_moment(long milliseconds)
{
	const struct timespec moment = { milliseconds / 1000,
					 milliseconds % 1000 * 1000000 };

	nanosleep(&moment, NULL);
}

static void what_nobody_needs_is_deleted(void **state)
{
	struct fixture *f = *state;
	struct collect_result r;

	publish_seed(f->store, "kept", SEED);
	publish_seed(f->store, "deleted", SEED + 1);
	delete_name(f->store, "deleted");
	r = collected(f->store, &collect_all);
	assert_int_equal(r.files, 1);
	assert_int_equal(r.packs, 1);
	assert_int_equal(r.set_aside_packs, 1);
	assert_int_equal(r.deleted_packs, 1);
	assert_true(r.deleted_bytes > SIZE);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_int_equal(count_below(f, "trash"), 0);
	assert_int_equal(count_below(f, "intents"), 0);
	assert_seed(f->store, "kept", SEED);
}

static void what_is_shared_stays_for_the_other(void **state)
{
	struct fixture *f = *state;

	publish_seed(f->store, "one", SEED);
	publish_seed(f->store, "other", SEED);
	assert_int_equal(count_below(f, "packs"), 1);
	delete_name(f->store, "one");
	assert_int_equal(collected(f->store, &collect_all).deleted_packs, 0);
	assert_seed(f->store, "other", SEED);
	fixture_reopen(f);
	assert_seed(f->store, "other", SEED);
}

static void a_deleted_artifact_needs_its_packs_until_it_expires(void **state)
{
	const struct collect_options keep = { .keep = 1000, .intents = 1000 };
	struct fixture *f = *state;
	struct collect_result r;

	publish_seed(f->store, "compiled_module", SEED);
	delete_name(f->store, "compiled_module");
	r = collected(f->store, &keep);
	assert_int_equal(r.expired_files, 0);
	assert_int_equal(r.files, 1);
	assert_int_equal(r.packs, 1);
	assert_int_equal(r.deleted_packs, 0);
	r = collected(f->store, &collect_all);
	assert_int_equal(r.expired_files, 1);
	assert_int_equal(r.deleted_packs, 1);
	assert_int_equal(count_below(f, "packs"), 0);
}

static void a_dry_run_changes_nothing(void **state)
{
	struct collect_options dry = collect_all;
	struct fixture *f = *state;
	struct collect_result r;

	dry.dry_run = true;
	publish_seed(f->store, "plain", SEED);
	delete_name(f->store, "plain");
	publish_seed(f->store, "compiled_module", SEED + 1);
	delete_name(f->store, "compiled_module");
	r = collected(f->store, &dry);
	assert_int_equal(r.set_aside_packs, 1);
	assert_int_equal(r.expired_files, 1);
	assert_int_equal(r.deleted_packs, 0);
	assert_int_equal(count_below(f, "packs"), 2);
	assert_int_equal(count_below(f, "trash/refs"), 1);
}

static void what_is_needless_is_set_aside_for_the_grace_period(void **state)
{
	const struct collect_options hour = { .grace = 3600, .intents = 3600 };
	const struct collect_options second = { .grace = 1, .intents = 3600 };
	struct fixture *f = *state;
	struct collect_result r;

	publish_seed(f->store, "file", SEED);
	delete_name(f->store, "file");
	r = collected(f->store, &hour); /* the pack is young */
	assert_int_equal(r.set_aside_packs, 0);
	a_moment(2100);
	r = collected(f->store, &second);
	assert_int_equal(r.set_aside_packs, 1);
	assert_int_equal(r.deleted_packs, 0);
	assert_int_equal(count_below(f, "packs"), 0);
	assert_int_equal(count_below(f, "trash/packs"), 1);
	r = collected(f->store, &hour); /* not for long enough */
	assert_int_equal(r.deleted_packs, 0);
	a_moment(2100);
	r = collected(f->store, &second);
	assert_int_equal(r.deleted_packs, 1);
	assert_int_equal(count_below(f, "trash/packs"), 0);
}

static void what_was_set_aside_is_read(void **state)
{
	struct fixture *f = *state;
	struct digest id;

	publish_seed(f->store, "file", SEED);
	id = only_pack(f);
	assert_int_equal(set_aside_pack(f->store, &id), 0);
	assert_int_equal(count_below(f, "packs"), 0);
	assert_seed(f->store, "file", SEED);
	fixture_reopen(f);
	assert_seed(f->store, "file", SEED);
	assert_int_equal(measured(f->store).quarantined, 0);
}

struct mover {
	struct store *store;
	struct digest id;
	atomic_bool stop;
};

static void *move_about(void *context)
{
	const struct timespec pause = { .tv_nsec = 200000 };
	struct mover *mover = context;

	while (!mover->stop) {
		set_aside_pack(mover->store, &mover->id);
		bring_back_pack(mover->store, &mover->id);
		nanosleep(&pause, NULL);
	}
	return NULL;
}

static void a_pack_is_found_while_it_is_moved(void **state)
{
	struct fixture *f = *state;
	struct mover mover = { .store = fixture_open(f) };
	struct pack *pack;
	pthread_t thread;
	int missed = 0;

	publish_seed(f->store, "file", SEED);
	mover.id = only_pack(f);
	assert_int_equal(pthread_create(&thread, NULL, move_about, &mover), 0);
	for (int i = 0; i < OPENS; i++) {
		int err = pack_open(f->store, &mover.id, &pack);

		missed += err == -ENOENT;
		if (!err)
			pack_close(pack);
	}
	mover.stop = true;
	assert_int_equal(pthread_join(thread, NULL), 0);
	store_close(mover.store);
	assert_int_equal(missed, 0);
}

static void a_collector_brings_back_what_is_needed(void **state)
{
	struct fixture *f = *state;
	struct collect_result r;
	struct digest id;

	publish_seed(f->store, "file", SEED);
	id = only_pack(f);
	assert_int_equal(set_aside_pack(f->store, &id), 0);
	r = collected(f->store, &collect_all);
	assert_int_equal(r.restored_packs, 1);
	assert_int_equal(r.deleted_packs, 0);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_seed(f->store, "file", SEED);
}

static void a_publisher_brings_back_what_it_reuses(void **state)
{
	struct fixture *f = *state;
	struct digest id;

	publish_seed(f->store, "file", SEED);
	id = only_pack(f);
	delete_name(f->store, "file");
	assert_int_equal(set_aside_pack(f->store, &id), 0);
	publish_seed(f->store, "again", SEED);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_int_equal(count_below(f, "trash/packs"), 0);
	assert_int_equal(collected(f->store, &collect_all).deleted_packs, 0);
	assert_seed(f->store, "again", SEED);
}

static void a_publisher_does_without_what_is_gone(void **state)
{
	struct fixture *f = *state;
	struct store *other = fixture_open(f);

	publish_seed(f->store, "file", SEED);
	delete_name(f->store, "file");
	collected(other, &collect_all);
	assert_int_equal(count_below(f, "packs"), 0);
	/* The first store knows the block, and has the pack open. */
	publish_seed(f->store, "again", SEED);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_seed(other, "again", SEED);
	store_close(other);
}

/* As a publication looks between its draft and its name. */
static void what_is_being_published_is_needed(void **state)
{
	struct collect_options impatient = collect_all;
	struct fixture *f = *state;

	publish_seed(f->store, "file", SEED);
	assert_int_equal(renameat(store_refs(f->store), "file",
				  f->store->intents, "draft-0123456789abcdef"),
			 0);
	collected(f->store, &collect_all);
	assert_int_equal(count_below(f, "packs"), 1);
	impatient.intents = -1;
	collected(f->store, &impatient);
	assert_int_equal(count_below(f, "packs"), 0);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void what_a_stranger_published_is_needed(void **state)
{
	struct fixture *f = *state;

	if (geteuid() != 0)
		skip();
	publish_seed(f->store, "file", SEED);
	assert_int_equal(
		fchownat(store_refs(f->store), "file", 12345, 12345, 0), 0);
	f->store->uid = 54321; /* a collector who does not trust it */
	collected(f->store, &collect_all);
	assert_int_equal(count_below(f, "packs"), 1);
}

static void all_namespaces_count(void **state)
{
	const struct store_config config = { .space = "elsewhere" };
	struct fixture *f = *state;
	struct store *other;
	char why[256];

	assert_int_equal(store_open(f->path, &config, &other, why, sizeof(why)),
			 0);
	publish_seed(other, "file", SEED);
	collected(f->store, &collect_all);
	assert_seed(other, "file", SEED);
	store_close(other);
}

/* The manifest `name`, as a newer program would write it, put to `path`. */
static void put_newer(const struct fixture *f, const char *name,
		      const char *path)
{
	AUTO_CLOSE int from = openat(store_refs(f->store), name, O_RDONLY);
	AUTO_CLOSE int to =
		openat(store_root(f->store), path, O_CREAT | O_WRONLY, 0600);
	uint8_t bytes[4096];
	ssize_t size = read(from, bytes, sizeof(bytes));

	assert_true(size > 0 && to >= 0);
	bytes[8]++; /* its version */
	reseal_manifest(bytes, (size_t)size);
	assert_int_equal(fd_write_at(to, bytes, (size_t)size, 0), 0);
}

static void what_a_newer_program_wrote_stops_all_deletion(void **state)
{
	static const char *const places[] = { "refs/default/newer",
					      "intents/draft-00000000000000aa",
					      "trash/refs/newer" };
	struct fixture *f = *state;

	publish_seed(f->store, "kept", SEED);
	publish_seed(f->store, "deleted", SEED + 1);
	delete_name(f->store, "deleted");
	for (size_t i = 0; i < sizeof(places) / sizeof(*places); i++) {
		struct collect_options keep = collect_all;
		struct collect_result r;

		keep.keep = 1000;
		/* Expiring removes it when it is empty. */
		mkdirat(f->store->trash, "refs", 0700);
		put_newer(f, "kept", places[i]);
		assert_int_equal(store_collect(f->store, &keep, &r), -ENOTSUP);
		assert_non_null(strstr(r.trouble, places[i]));
		assert_int_equal(count_below(f, "packs"), 2);
		remove_file(f, places[i]);
		assert_int_equal(count_below(f, "intents"), 0);
	}
	assert_int_equal(collected(f->store, &collect_all).deleted_packs, 1);
}

static void what_is_damaged_needs_nothing(void **state)
{
	struct fixture *f = *state;

	publish_seed(f->store, "kept", SEED);
	publish_seed(f->store, "damaged", SEED + 1);
	flip_byte(f, "refs/default/damaged", 60);
	assert_int_equal(collected(f->store, &collect_all).deleted_packs, 1);
	assert_seed(f->store, "kept", SEED);
}

/* Short names take more memory than bytes. */
static void a_file_that_names_many_is_looked_at(void **state)
{
	struct fixture *f = *state;
	struct publication p = { .dir = store_refs(f->store), .name = "file" };
	char names[MANIFEST_NAMES_MAX][4];
	const char *pointers[MANIFEST_NAMES_MAX];
	struct version *v;

	for (unsigned i = 0; i < MANIFEST_NAMES_MAX; i++) {
		snprintf(names[i], sizeof(names[i]), "%x", i);
		pointers[i] = names[i];
	}
	p.content = -1;
	p.names = pointers;
	p.name_count = MANIFEST_NAMES_MAX;
	assert_int_equal(store_publish(f->store, &p, &v), 0);
	version_put(v);
	assert_int_equal(collected(f->store, &collect_all).files, 1);
}

static void who_has_a_version_open_reads_on(void **state)
{
	struct fixture *f = *state;
	struct store *other = fixture_open(f);
	int refs = store_refs(f->store);
	uint8_t bytes[SIZE], read[SIZE];
	struct version *v;

	fill(bytes, SIZE, SEED, 256);
	publish(f->store, "file", bytes, SIZE);
	fixture_reopen(f);
	refs = store_refs(f->store);
	assert_int_equal(version_load(f->store, refs, "file", &v), 0);
	assert_int_equal(version_verify(f->store, v, refs, "file"), 0);
	assert_int_equal(version_hold(f->store, v), 0);
	delete_name(other, "file");
	collected(other, &collect_all);
	assert_int_equal(count_below(f, "packs"), 0);
	pack_pool_shrink(&f->store->pool);
	assert_int_equal(version_read(f->store, v, 0, read, SIZE), SIZE);
	assert_memory_equal(read, bytes, SIZE);
	version_let_go(f->store, v);
	pack_pool_shrink(&f->store->pool);
	assert_int_equal(version_hold(f->store, v), -ENOENT);
	version_put(v);
	store_close(other);
}

static void a_version_whose_packs_are_gone_is_not_published(void **state)
{
	struct fixture *f = *state;
	struct publication p = { .dir = store_refs(f->store), .name = "new" };
	struct version *v, *next;

	publish_seed(f->store, "file", SEED);
	assert_int_equal(version_load(f->store, p.dir, "file", &v), 0);
	p.meta = *version_meta(v);
	assert_int_equal(store_republish(f->store, v, &p, &next), 0);
	version_put(next);
	delete_name(f->store, "file");
	delete_name(f->store, "new");
	collected(f->store, &collect_all);
	assert_int_equal(count_below(f, "packs"), 0);
	assert_int_equal(store_republish(f->store, v, &p, &next), -ESTALE);
	assert_false(file_exists(f, "refs/default/new"));
	assert_int_equal(count_below(f, "intents"), 0);
	version_put(v);
}

static void one_collector_works_at_a_time(void **state)
{
	struct collect_options dry = { .dry_run = true };
	struct fixture *f = *state;
	struct collector first, second;
	struct collect_result r;

	assert_int_equal(collector_begin(f->store, 1, &first), 0);
	assert_int_equal(collector_begin(f->store, 1, &second), -EBUSY);
	assert_int_equal(store_collect(f->store, &dry, &r), -EBUSY);
	assert_non_null(strstr(r.trouble, "somebody else collects"));
	a_moment(2100);
	assert_int_equal(collector_goes_on(&first), 0); /* a sign of life */
	assert_int_equal(collector_begin(f->store, 1, &second), -EBUSY);
	a_moment(2100);
	assert_int_equal(collector_begin(f->store, 1, &second), 0);
	assert_int_equal(collector_goes_on(&first), -ESTALE);
	collector_end(&first); /* the announcement is not its own any more */
	assert_int_equal(collector_goes_on(&second), 0);
	collector_end(&second);
	assert_int_equal(count_below(f, "intents"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(what_nobody_needs_is_deleted),
		STORE_TEST(what_is_shared_stays_for_the_other),
		STORE_TEST(a_deleted_artifact_needs_its_packs_until_it_expires),
		STORE_TEST(a_dry_run_changes_nothing),
		STORE_TEST(what_is_needless_is_set_aside_for_the_grace_period),
		STORE_TEST(what_was_set_aside_is_read),
		STORE_TEST(a_pack_is_found_while_it_is_moved),
		STORE_TEST(a_collector_brings_back_what_is_needed),
		STORE_TEST(a_publisher_brings_back_what_it_reuses),
		STORE_TEST(a_publisher_does_without_what_is_gone),
		STORE_TEST(what_is_being_published_is_needed),
		STORE_TEST(what_a_stranger_published_is_needed),
		STORE_TEST(all_namespaces_count),
		STORE_TEST(what_a_newer_program_wrote_stops_all_deletion),
		STORE_TEST(what_is_damaged_needs_nothing),
		STORE_TEST(a_file_that_names_many_is_looked_at),
		STORE_TEST(who_has_a_version_open_reads_on),
		STORE_TEST(a_version_whose_packs_are_gone_is_not_published),
		STORE_TEST(one_collector_works_at_a_time),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
