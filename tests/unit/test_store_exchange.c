/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Exchanging a manifest while another publishes under the same name: whoever is
 * killed in it, at whatever step, undoes nothing.
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
#include "fs/store/exchange.h"
#include "fs/store/exchange_note.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "tests/unit/stops.h"
#include "tests/unit/store_collecting.h"

/* Of the ways to be killed every second is tried; sanitizers make this slow. */
#if defined(__SANITIZE_ADDRESS__) || defined(__SANITIZE_THREAD__)
enum { STRIDE = 5 };
#else
enum { STRIDE = 2 };
#endif

enum { SIZE = 100, ENOUGH = 10, MORE = 14 };

static const char kept[] = "kept";
static const char draft[] = "draft-0123456789abcdef";

/* Contents by a letter. */
static void put(struct store *store, char letter)
{
	char bytes[SIZE];

	memset(bytes, letter, SIZE);
	publish(store, kept, bytes, SIZE);
}

static int get(struct store *store, char letter)
{
	char bytes[SIZE];

	memset(bytes, letter, SIZE);
	return try_read(store, kept, bytes, SIZE);
}

static bool shows(struct store *store, char letter)
{
	struct version *v;
	char bytes[SIZE], read[SIZE];
	ssize_t size;

	if (version_load(store, store_refs(store), kept, &v))
		return false;
	size = version_read(store, v, 0, read, SIZE);
	version_put(v);
	memset(bytes, letter, SIZE);
	return size == SIZE && memcmp(bytes, read, SIZE) == 0;
}

/* As chmod does: it differs in its mode. */
static int change(struct store *store)
{
	struct publication p = { .dir = store_refs(store), .name = kept };
	struct version *v, *next;
	int err = version_load(store, p.dir, kept, &v);

	if (err)
		return err;
	p.meta = *version_meta(v);
	p.meta.mode ^= 0040;
	p.replaces = v;
	err = store_republish(store, v, &p, &next);
	version_put(v);
	if (!err)
		version_put(next);
	return err;
}

/* What a mount does when it begins. */
static int finish(struct store *store)
{
	exchange_finish_now(store);
	return 0;
}

/* Runs it up to a step; false when it has fewer. It ends as it may. */
static bool begin(const struct fixture *f, int (*act)(struct store *),
		  unsigned stop, pid_t *pid)
{
	int status;

	*pid = fork();
	assert_true(*pid >= 0);
	if (*pid == 0) {
		struct store *store = fixture_open(f);

		prctl(PR_SET_PDEATHSIG, SIGKILL); /* also when it is stopped */
		stop_before(stop, false);
		_exit(act(store) == -EIO);
	}
	assert_int_equal(waitpid(*pid, &status, WUNTRACED), *pid);
	return WIFSTOPPED(status);
}

/* Lets it make some steps more, then kills it. False when it had fewer. */
static bool go_on(pid_t pid, unsigned steps)
{
	int status;

	while (steps--) {
		assert_int_equal(kill(pid, SIGCONT), 0);
		assert_int_equal(waitpid(pid, &status, WUNTRACED), pid);
		if (!WIFSTOPPED(status)) {
			assert_int_equal(status, 0);
			return false;
		}
	}
	assert_int_equal(kill(pid, SIGKILL), 0);
	assert_int_equal(waitpid(pid, &status, 0), pid);
	return true;
}

static bool is_left(const struct fixture *f)
{
	return faccessat(f->store->intents, draft, F_OK, 0) == 0;
}

/* When all that is left has been given up, nothing is. */
static void judge(struct fixture *f, char letter)
{
	struct collect_options all = collect_all;

	fixture_reopen(f);
	finish(f->store);
	assert_true(shows(f->store, letter));
	all.intents = -1;
	collected(f->store, &all);
	collected(f->store, &all);
	assert_true(shows(f->store, letter));
	assert_int_equal(count_below(f, "intents"), 0);
	assert_false(is_left(f));
	assert_int_equal(measured(f->store).quarantined, 0);
}

/* Something is published at a step, and it is killed some steps later. */
static bool try_change(struct fixture *f, unsigned stop, unsigned more,
		       bool *lives)
{
	bool stopped;
	pid_t pid;

	put(f->store, 'a');
	stopped = begin(f, change, stop, &pid);
	*lives = false;
	if (stopped) {
		put(f->store, 'b');
		*lives = go_on(pid, more);
	}
	judge(f, stopped ? 'b' : 'a');
	return stopped;
}

static void who_is_killed_while_changing_undoes_nothing(void **state)
{
	struct fixture *f = *state;
	bool goes_on = true, lives;
	unsigned stop;

	for (stop = 1; goes_on; stop++) {
		unsigned more = stop % STRIDE;

		do
			goes_on = try_change(f, stop, more, &lives);
		while (lives && (more += STRIDE) <= MORE);
	}
	assert_true(stop > ENOUGH);
	print_message("change: %u steps\n", stop - 2);
}

/* Links what `kept` shows to a name in intents/. */
static void keep(struct store *store, const char *name)
{
	assert_int_equal(
		linkat(store_refs(store), kept, store->intents, name, 0), 0);
}

static void end_of(struct store *store, const char *name, struct digest *digest)
{
	AUTO_CLOSE int fd = openat(store->intents, name, O_RDONLY);
	struct stat st;

	assert_int_equal(fstat(fd, &st), 0);
	assert_int_equal(fd_read_at(fd, digest, sizeof(*digest),
				    (uint64_t)st.st_size - sizeof(*digest)),
			 0);
}

/*
 * As who exchanged what 'a' had for other attributes, and took 'b' away that
 * was published at that very moment, has left it.
 */
static void take_away(struct store *store, struct exchange_note *note)
{
	int refs = store_refs(store);

	put(store, 'a');
	keep(store, "older");
	assert_int_equal(change(store), 0);
	keep(store, "newer");
	put(store, 'b');
	keep(store, draft);
	end_of(store, "older", &note->older);
	end_of(store, "newer", &note->newer);
	exchange_note_begin(store, draft, refs, kept, note);
	assert_int_equal(renameat(store->intents, "newer", refs, kept), 0);
	assert_int_equal(unlinkat(store->intents, "older", 0), 0);
	assert_true(shows(store, 'a'));
}

/* A process that is over by then. */
static void let_take_away(const struct fixture *f)
{
	struct exchange_note note = { .ordered = false };
	pid_t pid = fork();
	int status;

	assert_true(pid >= 0);
	if (pid == 0) {
		take_away(fixture_open(f), &note);
		_exit(0);
	}
	assert_int_equal(waitpid(pid, &status, 0), pid);
	assert_int_equal(status, 0);
}

static void a_mount_and_a_collector_put_it_back(void **state)
{
	struct fixture *f = *state;

	let_take_away(f);
	finish(f->store);
	assert_false(is_left(f));
	assert_int_equal(get(f->store, 'b'), 0);
	let_take_away(f);
	collected(f->store, &collect_all);
	assert_int_equal(get(f->store, 'b'), 0);
	judge(f, 'b');
}

static void who_lives_is_left_alone(void **state)
{
	struct exchange_note note = { .ordered = false };
	struct collect_options options = collect_all;
	struct fixture *f = *state;

	options.intents = 3600;
	take_away(f->store, &note);
	finish(f->store);
	collected(f->store, &options);
	assert_true(shows(f->store, 'a'));
	assert_true(is_left(f));
	/* Unless it is so for hours. */
	options.intents = -1;
	collected(f->store, &options);
	assert_int_equal(get(f->store, 'b'), 0);
	assert_false(is_left(f));
}

static void what_was_done_since_stays(void **state)
{
	struct fixture *f = *state;

	let_take_away(f);
	put(f->store, 'c');
	judge(f, 'c');
	let_take_away(f);
	assert_int_equal(trash_delete(f->store, store_refs(f->store), kept), 0);
	finish(f->store);
	assert_int_equal(get(f->store, 'b'), -ENOENT);
	assert_false(is_left(f));
}

#define DIGESTS                                                                \
	"0123456789abcdef0123456789abcdef=0123456789abcdef0123456789abcdef"

/* The file's check is right, but the rest is no note, or leads elsewhere. */
static void what_is_no_note_is_dropped(void **state)
{
	static const char *const texts[] = {
		" x",
		" - 0 1 " DIGESTS " refs/default/kept",
		" - 0 1 draft-0123456789abcdef " DIGESTS,
		" - 0 1 draft-0123456789abcdef " DIGESTS " packs/kept",
		" - 0 1 draft-0123456789abcdef " DIGESTS
		" refs/../refs/default/kept",
		" - 0 1 draft " DIGESTS " refs/default/kept",
	};
	struct fixture *f = *state;

	for (size_t i = 0; i < sizeof(texts) / sizeof(*texts); i++) {
		size_t size = strlen(texts[i]) + 1;
		char check[17];
		int fd = openat(f->store->intents, "exchange-0123456789abcdef",
				O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0600);

		snprintf(check, sizeof(check), "%016jx",
			 (uintmax_t)check_of(texts[i], size - 1, 0));
		assert_int_equal(fd_write_at(fd, check, 16, 0), 0);
		assert_int_equal(fd_write_at(fd, texts[i], size, 16), 0);
		close(fd);
		put(f->store, 'b');
		keep(f->store, draft);
		put(f->store, 'a');
		judge(f, 'a');
	}
}

/* Who puts back is killed, and meanwhile something newer is published. */
static bool try_finish(struct fixture *f, unsigned stop, unsigned more,
		       bool *lives)
{
	bool stopped;
	pid_t pid;

	let_take_away(f);
	stopped = begin(f, finish, stop, &pid);
	*lives = false;
	if (stopped) {
		if (more)
			put(f->store, 'c');
		*lives = go_on(pid, more);
	}
	judge(f, stopped && more ? 'c' : 'b');
	return stopped;
}

static void who_is_killed_while_putting_back_undoes_nothing(void **state)
{
	struct fixture *f = *state;
	bool goes_on = true, lives;
	unsigned stop;

	for (stop = 1; goes_on; stop++) {
		unsigned more = stop % STRIDE;

		do
			goes_on = try_finish(f, stop, more, &lives);
		while (lives && (more += STRIDE) <= MORE);
	}
	assert_true(stop > ENOUGH);
	print_message("put back: %u steps\n", stop - 2);
}

int main(void)
{
	const struct CMUnitTest tests[] = {
		STORE_TEST(a_mount_and_a_collector_put_it_back),
		STORE_TEST(who_lives_is_left_alone),
		STORE_TEST(what_was_done_since_stays),
		STORE_TEST(what_is_no_note_is_dropped),
		STORE_TEST(who_is_killed_while_changing_undoes_nothing),
		STORE_TEST(who_is_killed_while_putting_back_undoes_nothing),
	};

	return cmocka_run_group_tests(tests, NULL, NULL);
}
