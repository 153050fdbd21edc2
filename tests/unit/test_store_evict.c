/* SPDX-License-Identifier: Apache-2.0 */
/* What is evicted, in which order, and what never is. */
#include "fs/store/evict.h"

#include <errno.h>
#include <fcntl.h>
#include <limits.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/file.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/own.h"
#include "fs/store/collector.h"
#include "fs/store/evicted.h"
#include "fs/store/pins.h"
#include "fs/store/room.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "fs/store/victims.h"
#include "tests/unit/store_collecting.h"
#include "tests/unit/store_fixture.h"

enum { SIZE = 100000, NAME_SIZE = 32, LEAVES = 6 };

static void make_parents(struct store *store, const char *path)
{
	char part[NAME_SIZE];

	for (const char *end = strchr(path, '/'); end;
	     end = strchr(end + 1, '/')) {
		snprintf(part, sizeof(part), "%.*s", (int)(end - path), path);
		(void)mkdirat(store->space, part, 0700);
	}
}

static int publish_in(struct store *store, int dir, const char *name,
		      uint64_t seed, size_t size)
{
	AUTO_FREE uint8_t *bytes = malloc(size + 1);
	AUTO_CLOSE int fd = -1;
	struct publication p = {
		.dir = dir,
		.name = name,
		.meta = { .size = size, .mode = 0600, .ino = 7 }
	};
	struct version *v = NULL;
	int err;

	assert_non_null(bytes);
	fill(bytes, size, seed, 256);
	fd = content_file(bytes, size);
	p.content = fd;
	err = store_publish(store, &p, &v);
	version_put(v);
	return err;
}

static int open_dir(struct store *store, const char *path)
{
	int dir =
		openat(store->space, path, O_RDONLY | O_DIRECTORY | O_CLOEXEC);

	assert_true(dir >= 0);
	return dir;
}

/* Publishes "directory/file", which follows from the seed. */
static int try_publish_at(struct store *store, const char *path, uint64_t seed,
			  size_t size)
{
	char parent[NAME_SIZE];
	const char *slash = strrchr(path, '/');
	AUTO_CLOSE int dir = -1;

	make_parents(store, path);
	snprintf(parent, sizeof(parent), "%.*s", (int)(slash - path), path);
	dir = open_dir(store, parent);
	return publish_in(store, dir, slash + 1, seed, size);
}

static void publish_at(struct store *store, const char *path, uint64_t seed)
{
	assert_int_equal(try_publish_at(store, path, seed, SIZE), 0);
}

/* A use, by the clock of a test. */
static void use_at(struct store *store, const char *path, time_t when)
{
	const struct timespec times[] = { { .tv_sec = when },
					  { .tv_nsec = UTIME_OMIT } };

	assert_int_equal(utimensat(store->space, path, times, 0), 0);
}

static bool is_there(struct store *store, const char *path)
{
	return faccessat(store->space, path, F_OK, AT_SYMLINK_NOFOLLOW) == 0;
}

static struct evict_result evicted(struct store *store, uint64_t bytes)
{
	const struct evict_options options = { .bytes = bytes };
	struct evict_result result;
	int err = store_evict(store, &options, &result);

	if (err)
		print_error("store_evict: %s\n", result.trouble);
	assert_int_equal(err, 0);
	return result;
}

static void publish_leaves(struct store *store)
{
	for (int i = 0; i < LEAVES; i++) {
		char path[NAME_SIZE];

		snprintf(path, sizeof(path), "m%d/r/file", i);
		publish_at(store, path, (uint64_t)i);
		snprintf(path, sizeof(path), "m%d/r", i);
		use_at(store, path, 1000 + (i * 5 + 2) % LEAVES);
	}
}

static void the_heap_keeps_the_oldest_in_order(void **state)
{
	AUTO_FREE struct victims *v = calloc(1, sizeof(*v));
	enum { COUNT = VICTIMS_MAX * 3 };

	(void)state;
	assert_non_null(v);
	for (int i = 0; i < COUNT; i++) {
		const struct timespec used = { .tv_sec = i * 7 % COUNT };

		assert_int_equal(victims_offer(v, &used, 1, "path"), 0);
	}
	victims_sort(v);
	assert_int_equal(v->count, VICTIMS_MAX);
	for (int i = 0; i < VICTIMS_MAX; i++)
		assert_int_equal(v->list[i].used.tv_sec, i);
	victims_free(v);
}

static void the_least_recently_used_go_first(void **state)
{
	struct fixture *f = *state;
	struct evict_result r;

	publish_leaves(f->store);
	r = evicted(f->store, 3 * SIZE + SIZE / 2);
	assert_true(r.enough);
	assert_true(r.bytes <= 3 * SIZE + SIZE / 2);
	assert_int_equal(r.directories, 3);
	assert_int_equal(r.files, 3);
	assert_int_equal(r.deleted_packs, 3);
	for (int i = 0; i < LEAVES; i++) {
		char path[NAME_SIZE];

		snprintf(path, sizeof(path), "m%d", i);
		assert_int_equal(is_there(f->store, path),
				 (i * 5 + 2) % LEAVES >= 3);
	}
	assert_int_equal(count_below(f, "trash"), 0);
	assert_int_equal(count_below(f, "packs"), 3);
	assert_int_equal(store_counts(f->store).value[COUNTER_EVICTED], 3);
}

static void the_trash_goes_before_what_is_there(void **state)
{
	struct fixture *f = *state;
	struct evict_result r;
	AUTO_CLOSE int dir = -1;

	publish_at(f->store, "old/file", 1);
	use_at(f->store, "old", 1);
	publish_at(f->store, "deleted/compiled_module", 2);
	dir = open_dir(f->store, "deleted");
	assert_int_equal(trash_delete(f->store, dir, "compiled_module"), 0);
	r = evicted(f->store, SIZE + SIZE / 2);
	assert_int_equal(r.expired_files, 1);
	assert_int_equal(r.files, 0);
	assert_true(is_there(f->store, "old/file"));
	assert_int_equal(count_below(f, "trash"), 0);
}

static void what_is_shared_frees_nothing_alone(void **state)
{
	struct fixture *f = *state;
	struct evict_result r;

	publish_at(f->store, "a/file", 1);
	publish_at(f->store, "b/file", 1);
	publish_at(f->store, "c/file", 2);
	use_at(f->store, "a", 1);
	use_at(f->store, "b", 2);
	use_at(f->store, "c", 3);
	r = evicted(f->store, SIZE + SIZE / 2);
	assert_int_equal(r.files, 2);
	assert_true(is_there(f->store, "c/file"));
	assert_true(r.enough);
}

static void only_leaves_below_a_namespace_go(void **state)
{
	struct fixture *f = *state;
	struct evict_result r;

	publish(f->store, "file", "abc", 3);
	publish_at(f->store, "a/b/file", 1);
	publish_at(f->store, "a/file", 2);
	assert_int_equal(mkdirat(f->store->space, "empty", 0700), 0);
	use_at(f->store, "a", 1);
	use_at(f->store, "a/b", 2);
	r = evicted(f->store, SIZE + SIZE / 2);
	assert_int_equal(r.files, 1); /* "a" was no leaf before */
	assert_true(is_there(f->store, "a/file"));
	r = evicted(f->store, 0);
	assert_false(r.enough);
	assert_int_equal(r.files, 1);
	assert_false(is_there(f->store, "a"));
	assert_true(is_there(f->store, "file"));
	assert_true(is_there(f->store, "empty"));
}

static void what_is_pinned_or_locked_stays(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = -1;
	struct evict_result r;

	publish_leaves(f->store);
	assert_int_equal(pins_add(f->store, "/m0/"), 0);
	assert_int_equal(pins_add(f->store, "m1/r/file"), 0);
	assert_int_equal(pins_add(f->store, "m"), 0);
	assert_int_equal(pins_add(f->store, "m0"), -EEXIST);
	dir = open_dir(f->store, "m2/r");
	assert_int_equal(flock(dir, LOCK_SH), 0);
	r = evicted(f->store, 0);
	assert_false(r.enough);
	assert_int_equal(r.files, LEAVES - 3);
	assert_true(is_there(f->store, "m0/r/file"));
	assert_true(is_there(f->store, "m1/r/file"));
	assert_true(is_there(f->store, "m2/r/file"));
	assert_int_equal(pins_remove(f->store, "m0"), 0);
	assert_int_equal(pins_remove(f->store, "m0"), -ENOENT);
	assert_int_equal(evicted(f->store, 0).files, 1);
}

static void a_record_that_is_none_pins_nothing(void **state)
{
	struct fixture *f = *state;
	struct pins pins = { 0 };
	AUTO_CLOSE int fd = -1;

	assert_int_equal(pins_add(f->store, "a/b"), 0);
	assert_int_equal(pins_add(f->store, "a/../b"), -EINVAL);
	fd = openat(f->store->root, "pins/0123456789abcdef0123456789abcdef",
		    O_CREAT | O_WRONLY | O_CLOEXEC, 0600);
	assert_int_equal(write(fd, "default", 7), 7);
	assert_int_equal(symlinkat("/", f->store->root, "pins/link"), 0);
	assert_int_equal(pins_load(f->store, &pins), 0);
	assert_int_equal(pins.count, 1);
	assert_true(pins_keep(&pins, "default/a/b/c"));
	assert_true(pins_keep(&pins, "default/a"));
	assert_false(pins_keep(&pins, "default/a/bc"));
	assert_false(pins_keep(&pins, "other/a/b"));
	pins_free(&pins);
}

static struct store *open_bounded(const struct fixture *f, uint64_t bytes)
{
	const struct store_config config = { .max_bytes = &bytes };
	struct store *store;
	char why[256];

	assert_int_equal(store_open(f->path, &config, &store, why, sizeof(why)),
			 0);
	assert_int_equal(store_max_bytes(store), bytes);
	return store;
}

static void a_publisher_makes_room_first(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_bounded(f, 10 * SIZE);

	for (int i = 0; i < 30; i++) {
		char path[NAME_SIZE];

		snprintf(path, sizeof(path), "m%d/file", i);
		publish_at(store, path, (uint64_t)i);
		snprintf(path, sizeof(path), "m%d", i);
		use_at(store, path, 1000 + i);
		assert_true(measured(store).stored_bytes <= 10 * SIZE);
	}
	assert_true(is_there(store, "m29/file"));
	assert_true(is_there(store, "m25/file"));
	assert_false(is_there(store, "m15"));
	store_close(store);
}

static void without_room_the_old_version_stays(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_bounded(f, 2 * SIZE + SIZE / 2);
	uint8_t bytes[SIZE];
	struct version *v;

	fill(bytes, SIZE, 1, 256);
	publish(store, "file", bytes, SIZE); /* never a namespace's own */
	publish_at(store, "pinned/file", 2);
	assert_int_equal(pins_add(store, "pinned"), 0);
	assert_int_equal(try_publish_at(store, "new/file", 3, SIZE), -ENOSPC);
	assert_int_equal(try_publish_at(store, "new/file", 3, 3 * SIZE),
			 -EFBIG);
	fill(bytes, SIZE, 4, 256);
	assert_int_equal(try_publish(store, "file", bytes, SIZE, &v), -ENOSPC);
	fill(bytes, SIZE, 1, 256);
	assert_reads(store, "file", bytes, SIZE);
	assert_true(is_there(store, "pinned/file"));
	assert_int_equal(count_below(f, "packs"), 2);
	assert_int_equal(count_below(f, "intents"), 0);
	store_close(store);
}

static void what_is_published_counts_what_others_published(void **state)
{
	struct fixture *f = *state;
	struct store *store = open_bounded(f, 4 * SIZE);

	publish_at(store, "a/file", 1);
	use_at(store, "a", 1);
	publish_at(f->store, "b/file", 2); /* without bounds */
	publish_at(f->store, "c/file", 3);
	publish_at(store, "d/file", 4);
	assert_false(is_there(store, "a"));
	store_close(store);
}

static void what_is_to_be_free_is_freed_ahead_of_time(void **state)
{
	const struct store_config config = { .min_free = {
						     .bytes = INT64_MAX } };
	struct fixture *f = *state;
	struct store *store;
	char why[256];

	publish_leaves(f->store);
	assert_false(store_is_bounded(f->store));
	assert_int_equal(store_keep_room(f->store, NULL, NULL), 0);
	assert_int_equal(count_below(f, "packs"), LEAVES);
	assert_int_equal(store_open(f->path, &config, &store, why, sizeof(why)),
			 0);
	assert_true(store_is_bounded(store));
	assert_int_equal(store_keep_room(store, NULL, NULL), 0);
	assert_int_equal(count_below(f, "packs"), 0);
	/* What cannot be reached is no reason to refuse anything. */
	publish_at(store, "new/file", 1);
	store_close(store);
}

/* As an evictor that was killed in the middle leaves it. */
static void leave_evicted(struct store *store, const char *path)
{
	char whole[NAME_SIZE * 2];

	snprintf(whole, sizeof(whole), "default/%s", path);
	assert_int_equal(
		symlinkat(whole, store->trash, "evicted/0123456789abcdef.path"),
		0);
	assert_int_equal(renameat(store->space, path, store->trash,
				  "evicted/0123456789abcdef"),
			 0);
}

static void what_a_killed_evictor_left_goes_on(void **state)
{
	struct fixture *f = *state;
	AUTO_CLOSE int dir = -1;

	publish_at(f->store, "a/b/old", 1);
	dir = open_dir(f->store, "a/b");
	usleep(20000); /* a tick */
	leave_evicted(f->store, "a/b");
	assert_true(evicted_has(f->store, dir));
	/* It is told, and finds it again all the same. */
	assert_int_equal(publish_in(f->store, dir, "young", 2, SIZE), -ENOENT);
	collected(f->store, &collect_all);
	assert_int_equal(count_below(f, "packs"), 2);
	evicted(f->store, UINT64_MAX);
	assert_true(is_there(f->store, "a/b/young"));
	assert_false(is_there(f->store, "a/b/old"));
	assert_int_equal(count_below(f, "trash"), 0);
	assert_int_equal(evicted(f->store, UINT64_MAX).files, 0);
	assert_int_equal(count_below(f, "packs"), 1);
	assert_int_equal(count_below(f, "intents"), 0);
}

static void what_was_used_since_the_walk_stays(void **state)
{
	struct fixture *f = *state;
	struct leaving leaving = { .store = f->store };
	char path[] = "default/a";
	struct victim victim = { .path = path };
	struct stat st;

	publish_at(f->store, "a/file", 1);
	use_at(f->store, "a", 1);
	assert_int_equal(fstatat(f->store->space, "a", &st, 0), 0);
	victim.ino = st.st_ino;
	victim.used = st.st_atim;
	use_at(f->store, "a", 2);
	assert_int_equal(evicted_take(&leaving, &victim), 0);
	assert_int_equal(leaving.directories, 0);
	use_at(f->store, "a", 1);
	assert_int_equal(evicted_take(&leaving, &victim), 0);
	assert_int_equal(leaving.directories, 1);
	gain_free(&leaving.gain);
}

static void a_collector_that_has_died_is_superseded_at_once(void **state)
{
	struct fixture *f = *state;
	struct collector collector;
	pid_t child = fork();

	if (child == 0)
		_exit(collector_begin(f->store, 100, &collector) ? 1 : 0);
	assert_int_equal(waitpid(child, NULL, 0), child);
	assert_true(file_exists(f, "intents/collecting"));
	assert_int_equal(evicted(f->store, UINT64_MAX).files, 0);
	assert_int_equal(count_below(f, "intents"), 0);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(the_heap_keeps_the_oldest_in_order),
		STORE_TEST(the_least_recently_used_go_first),
		STORE_TEST(the_trash_goes_before_what_is_there),
		STORE_TEST(what_is_shared_frees_nothing_alone),
		STORE_TEST(only_leaves_below_a_namespace_go),
		STORE_TEST(what_is_pinned_or_locked_stays),
		STORE_TEST(a_record_that_is_none_pins_nothing),
		STORE_TEST(a_publisher_makes_room_first),
		STORE_TEST(without_room_the_old_version_stays),
		STORE_TEST(what_is_published_counts_what_others_published),
		STORE_TEST(what_is_to_be_free_is_freed_ahead_of_time),
		STORE_TEST(what_a_killed_evictor_left_goes_on),
		STORE_TEST(what_was_used_since_the_walk_stays),
		STORE_TEST(a_collector_that_has_died_is_superseded_at_once),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
