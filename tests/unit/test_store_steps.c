/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A process that changes the store is stopped before each call that looks at
 * or changes a file, while others collect, or publish; then it goes on, or is
 * killed.
 */
#include <errno.h>
#include <fcntl.h>
#include <setjmp.h>
#include <signal.h>
#include <stdarg.h>
#include <stddef.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <sys/prctl.h>
#include <sys/stat.h>
#include <sys/wait.h>
#include <unistd.h>

#include <cmocka.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/collector.h"
#include "fs/store/evict.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "tests/unit/stops.h"
#include "tests/unit/store_collecting.h"

enum {
	SIZE = 120000,
	ENOUGH = 5,
	TICK = 20000 /* microseconds */
};

/*
 * Contents by a letter. 'b' begins as 'a' does, and 's' as 'r', so that they
 * share blocks; the others have none in common.
 */
static const uint8_t *letter_content(char letter)
{
	static uint8_t contents['z' - 'a' + 1][SIZE];
	uint8_t *bytes = contents[letter - 'a'];
	bool shares = letter == 'b' || letter == 's';

	if (bytes[0])
		return bytes;
	fill(bytes, SIZE, (uint64_t)letter - shares, 256);
	if (shares)
		fill(bytes + SIZE / 2, SIZE / 2, (uint64_t)letter, 256);
	bytes[0] |= 1; /* made */
	return bytes;
}

/* `how` has the directory, or 0 for that of the namespace. */
static int put(struct store *store, const char *name, char letter,
	       const struct publication *how)
{
	struct publication p = *how;
	struct version *v;
	int err;

	if (p.dir <= 0)
		p.dir = store_refs(store);
	p.name = name;
	p.content = content_file(letter_content(letter), SIZE);
	p.meta = (struct manifest_meta){ .size = SIZE, .mode = 0600, .ino = 7 };
	err = store_publish(store, &p, &v);
	close(p.content);
	if (!err)
		version_put(v);
	return err;
}

static void put_plainly(struct store *store, const char *name, char letter)
{
	const struct publication plain = { .dir = -1 };

	assert_int_equal(put(store, name, letter, &plain), 0);
}

static int get(struct store *store, const char *name, char letter)
{
	return try_read(store, name, letter_content(letter), SIZE);
}

/* What is tried step by step. */
struct play {
	const char *what;
	int (*act)(struct store *store);
	/* What must hold when it is over; `ended` when it was not killed. */
	void (*judge)(struct store *store, bool ended);
};

static int act_share(struct store *store)
{
	const struct publication plain = { .dir = -1 };

	return put(store, "new", 'b', &plain);
}

static int act_share_all(struct store *store)
{
	const struct publication durable = { .durable = true };

	return put(store, "new", 'a', &durable);
}

static int act_create(struct store *store)
{
	const struct publication created = { .exclusive = true };

	return put(store, "new", 'b', &created);
}

/* Both names, so that nothing else than 'a' or 'b' is ever seen. */
static void judge_new(struct store *store, bool ended, char letter)
{
	int err = get(store, "new", letter);

	assert_true(err == 0 || (!ended && err == -ENOENT));
}

static void judge_a(struct store *store, bool ended)
{
	judge_new(store, ended, 'a');
}

static void judge_b(struct store *store, bool ended)
{
	judge_new(store, ended, 'b');
}

static void judge_r(struct store *store, bool ended)
{
	judge_new(store, ended, 'r');
}

static void judge_part(struct store *store, bool ended)
{
	(void)ended;
	assert_int_equal(get(store, "part", 's'), 0);
}

static int act_replace(struct store *store)
{
	struct publication p = { .dir = -1 };
	struct version *v;
	int err = version_load(store, store_refs(store), "kept", &v);

	if (err)
		return err;
	p.replaces = v;
	err = put(store, "kept", 'b', &p);
	version_put(v);
	return err;
}

static bool has_letter(struct store *store, const char *name, char letter)
{
	uint8_t read[SIZE];
	struct version *v;
	ssize_t size;

	if (version_load(store, store_refs(store), name, &v))
		return false;
	size = version_read(store, v, 0, read, SIZE);
	version_put(v);
	return size == SIZE && memcmp(letter_content(letter), read, SIZE) == 0;
}

static void judge_replaced(struct store *store, bool ended)
{
	assert_true(has_letter(store, "kept", 'b') ||
		    (!ended && has_letter(store, "kept", 'k')));
}

static int change(struct store *store, const char *name)
{
	struct publication p = { .dir = store_refs(store), .name = name };
	struct version *v, *next;
	int err = version_load(store, p.dir, name, &v);

	if (err)
		return err;
	p.meta = *version_meta(v);
	p.replaces = v;
	err = store_republish(store, v, &p, &next);
	version_put(v);
	if (!err)
		version_put(next);
	return err;
}

static int act_change(struct store *store)
{
	return change(store, "kept");
}

/* The mount tries again, and so it must end. */
static int act_change_part(struct store *store)
{
	int err;

	do
		err = change(store, "part");
	while (err == -EAGAIN);
	return err;
}

static int act_share_part(struct store *store)
{
	const struct publication plain = { .dir = -1 };

	return put(store, "new", 'r', &plain);
}

static int act_move(struct store *store)
{
	int refs = store_refs(store);
	int err = store_rename(store, refs, "kept", refs, "dir/kept", 0);

	return err ? err
		   : store_rename(store, refs, "dir/kept", refs, "kept", 0);
}

static int act_move_directory(struct store *store)
{
	int refs = store_refs(store);

	return store_rename(store, refs, "dir", refs, "dir2", 0);
}

static int act_undelete(struct store *store)
{
	struct trash_restored result = { .files = 0 };
	int err = trash_delete(store, store_refs(store), "kept.om");

	/* It may have expired. */
	return err || trash_restore(store, "kept.om", &result) == 0 ? err : 0;
}

static void judge_kept(struct store *store, bool ended)
{
	(void)ended;
	assert_true(has_letter(store, "kept", 'k') ||
		    has_letter(store, "dir/kept", 'k'));
}

static void judge_undeleted(struct store *store, bool ended)
{
	int err = get(store, "kept.om", 'o');

	(void)ended;
	assert_true(err == 0 || err == -ENOENT);
}

static const struct collect_options rewriting = {
	.intents = COLLECT_INTENT_SECONDS,
	.rewrite = 20,
};

static int act_collect(struct store *store)
{
	struct collect_result result;

	return store_collect(store, &rewriting, &result);
}

/*
 * "kept", "part" and what is in "dir" is never deleted; of 'a' only a pack is
 * left, and of that of 'r' "part" needs a half. All is older than what follows.
 */
static void prepare(struct fixture *f)
{
	const struct timespec tick = { .tv_nsec = 15 * 1000 * 1000 };
	int refs = store_refs(f->store);

	assert_int_equal(mkdirat(refs, "dir", 0700), 0);
	put_plainly(f->store, "dir/inner", 'i');
	put_plainly(f->store, "kept", 'k');
	put_plainly(f->store, "kept.om", 'o');
	put_plainly(f->store, "gone", 'a');
	assert_int_equal(trash_delete(f->store, refs, "gone"), 0);
	put_plainly(f->store, "whole", 'r');
	put_plainly(f->store, "part", 's');
	assert_int_equal(trash_delete(f->store, refs, "whole"), 0);
	nanosleep(&tick, NULL);
}

/* Runs the play up to a step; false when it has fewer. */
static bool begin(const struct fixture *f, const struct play *play,
		  unsigned stop, pid_t *pid)
{
	int status;

	*pid = fork();
	assert_true(*pid >= 0);
	if (*pid == 0) {
		struct store *store = fixture_open(f);

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when it is stopped */
		stop_before(stop, chosen_pace().once);
		_exit(play->act(store) ? 1 : 0);
	}
	assert_int_equal(waitpid(*pid, &status, WUNTRACED), *pid);
	if (WIFSTOPPED(status))
		return true;
	assert_int_equal(status, 0);
	return false;
}

/*
 * Kills it, or lets it go on, one step at a time: what others see meanwhile is
 * never torn.
 */
static void end(struct store *store, const struct play *play, pid_t pid,
		bool kills)
{
	int status;

	do {
		play->judge(store, false);
		assert_int_equal(kill(pid, kills ? SIGKILL : SIGCONT), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
	} while (WIFSTOPPED(status));
	assert_true(kills || status == 0);
}

/* -EAGAIN while the move of a directory has stopped. */
static void collect_twice(struct store *store)
{
	struct collect_result r;
	int err = store_collect(store, &rewriting, &r);

	if (err != -EAGAIN)
		err = store_collect(store, &rewriting, &r);
	assert_true(err == 0 || err == -EAGAIN);
}

/* In the end, when all that is left of the dead has been given up. */
static void judge_store(struct fixture *f)
{
	struct collect_options all = collect_all;
	struct store_measures m;

	all.intents = -1;
	unlinkat(f->store->intents, COLLECTOR_NAME, 0);
	collected(f->store, &all);
	m = measured(f->store);
	assert_int_equal(m.quarantined, 0);
	assert_int_equal(m.unreadable, 0);
	assert_int_equal(collected(f->store, &all).packs, m.packs);
	assert_int_equal(count_below(f, "intents"), 0);
	assert_int_equal(count_below(f, "trash"), 0);
	assert_true(has_letter(f->store, "dir/inner", 'i') ||
		    has_letter(f->store, "dir2/inner", 'i'));
	assert_true(has_letter(f->store, "part", 's') ||
		    has_letter(f->store, "part", 'r'));
}

/* One step; false when the play has fewer. */
static bool try_step(const struct play *play, unsigned stop, bool kills)
{
	struct fixture *f;
	bool stopped;
	pid_t pid;

	assert_int_equal(fixture_setup((void **)&f), 0);
	prepare(f);
	stopped = begin(f, play, stop, &pid);
	if (stopped) {
		collect_twice(f->store);
		end(f->store, play, pid, kills);
	}
	fixture_reopen(f);
	play->judge(f->store, !stopped || !kills);
	judge_store(f);
	play->judge(f->store, !stopped || !kills);
	fixture_teardown((void **)&f);
	return stopped;
}

static void try_all(const struct play *play, size_t count, bool kills)
{
	unsigned stride = chosen_pace().stride;

	for (size_t i = 0; i < count; i++) {
		unsigned stop = stride > 1 ? 1 + kills : 1;

		while (try_step(&play[i], stop, kills))
			stop += stride;
		assert_true(stop > ENOUGH);
		print_message("%s: %u steps\n", play[i].what, stop - 1);
	}
}

static const struct play plays[] = {
	{ "publish what is half there", act_share, judge_b },
	{ "publish what is all there, durably", act_share_all, judge_a },
	{ "create", act_create, judge_b },
	{ "replace", act_replace, judge_replaced },
	{ "change", act_change, judge_kept },
	{ "publish what is rewritten", act_share_part, judge_r },
	{ "change what is rewritten", act_change_part, judge_part },
	{ "move and move back", act_move, judge_kept },
	{ "move a directory", act_move_directory, judge_kept },
	{ "delete and undelete", act_undelete, judge_undeleted },
};

static void who_is_stopped_loses_nothing(void **state)
{
	(void)state;
	try_all(plays, sizeof(plays) / sizeof(*plays), false);
}

static void who_is_killed_loses_nothing(void **state)
{
	(void)state;
	try_all(plays, sizeof(plays) / sizeof(*plays), true);
}

/* In turn, so that each is done before half of the steps. */
static void play_with_part(struct store *store, unsigned round)
{
	if (round % 2)
		put_plainly(store, "part", 'r');
	else
		assert_int_equal(change(store, "part"), 0);
}

static void play_meanwhile(struct store *store, unsigned round)
{
	int refs = store_refs(store);
	char name[16];

	for (unsigned i = 0; i < 2; i++) {
		snprintf(name, sizeof(name), "same%u", i);
		put_plainly(store, name, 'a');
		snprintf(name, sizeof(name), "half%u", i);
		put_plainly(store, name, 'b');
	}
	if (round % 2)
		assert_int_equal(
			store_rename(store, refs, "kept", refs, "dir/kept", 0),
			0);
	else
		assert_int_equal(act_change(store), 0);
}

static void judge_meanwhile(struct store *store, bool ended)
{
	assert_int_equal(get(store, "same0", 'a'), 0);
	assert_int_equal(get(store, "same1", 'a'), 0);
	assert_int_equal(get(store, "half0", 'b'), 0);
	assert_int_equal(get(store, "half1", 'b'), 0);
	judge_kept(store, ended);
}

/* A collector that stops while others publish. */
static bool try_collector(unsigned stop, bool kills)
{
	const struct play play = { "collect", act_collect, judge_kept };
	char part = (stop / 2 + kills) % 2 ? 'r' : 's'; /* play_with_part() */
	struct fixture *f;
	bool stopped;
	pid_t pid;

	assert_int_equal(fixture_setup((void **)&f), 0);
	prepare(f);
	stopped = begin(f, &play, stop, &pid);
	if (stopped) {
		play_meanwhile(f->store, stop);
		play_with_part(f->store, stop / 2 + kills);
		end(f->store, &play, pid, kills);
		fixture_reopen(f);
		judge_meanwhile(f->store, true);
		assert_int_equal(get(f->store, "part", part), 0);
	}
	judge_store(f);
	if (stopped)
		judge_meanwhile(f->store, true);
	assert_int_equal(get(f->store, "part", stopped ? part : 's'), 0);
	fixture_teardown((void **)&f);
	return stopped;
}

static void what_is_published_while_a_collector_stops_stays(void **state)
{
	unsigned stride = chosen_pace().stride;

	(void)state;
	for (unsigned kills = 0; kills < 2; kills++) {
		unsigned stop = stride > 1 ? 1 + kills : 1;

		while (try_collector(stop, kills))
			stop += stride;
		assert_true(stop > ENOUGH);
		print_message("collect: %u steps\n", stop - 1);
	}
}

static int evict_to(struct store *store, uint64_t bytes)
{
	const struct evict_options options = { .bytes = bytes };
	struct evict_result result;

	return store_evict(store, &options, &result);
}

static int act_evict(struct store *store)
{
	return evict_to(store, 0);
}

/* The directory is there with all that it has, or is not there. */
static void judge_evicted(struct store *store, bool ended)
{
	bool one, other;

	if (!ended)
		return; /* it may go between two looks */
	one = has_letter(store, "dir/inner", 'i');
	other = has_letter(store, "dir/other", 'a');
	assert_true(one == other);
}

/* Into the directory that is being evicted, as one that has it open. */
static bool try_evictor(unsigned stop, bool kills)
{
	const struct play play = { "evict", act_evict, judge_evicted };
	struct publication there = { .dir = -1 };
	struct fixture *f;
	bool stopped;
	int err = 0;
	pid_t pid;

	assert_int_equal(fixture_setup((void **)&f), 0);
	prepare(f);
	put_plainly(f->store, "dir/other", 'a');
	there.dir = openat(store_refs(f->store), "dir", O_RDONLY | O_CLOEXEC);
	usleep(TICK);
	stopped = begin(f, &play, stop, &pid);
	if (stopped) {
		judge_evicted(f->store, true);
		err = put(f->store, "new", 'b', &there);
		assert_true(err == 0 || err == -ENOENT);
		end(f->store, &play, pid, kills);
		if (kills && !err)
			assert_true(has_letter(f->store, "dir/new", 'b'));
	}
	/* The dead evictor is no matter: it is known to be. */
	assert_int_equal(act_collect(f->store), 0);
	assert_int_equal(evict_to(f->store, UINT64_MAX), 0);
	if (stopped && kills && !err)
		assert_true(has_letter(f->store, "dir/new", 'b'));
	judge_evicted(f->store, true);
	assert_int_equal(count_below(f, "trash/evicted"), 0);
	close(there.dir);
	fixture_teardown((void **)&f);
	return stopped;
}

static void an_evictor_that_is_stopped_leaves_nothing_half(void **state)
{
	unsigned stride = chosen_pace().evictor_stride;

	(void)state;
	for (unsigned kills = 0; kills < 2; kills++) {
		unsigned stop = 1;

		while (try_evictor(stop, kills))
			stop += stride;
		assert_true(stop > ENOUGH);
		print_message("evict: %u steps\n", stop - 1);
	}
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		cmocka_unit_test(who_is_stopped_loses_nothing),
		cmocka_unit_test(who_is_killed_loses_nothing),
		cmocka_unit_test(
			what_is_published_while_a_collector_stops_stays),
		cmocka_unit_test(
			an_evictor_that_is_stopped_leaves_nothing_half),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
