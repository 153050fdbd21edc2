/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/collect.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/clock.h"
#include "fs/store/collect_run.h"
#include "fs/store/durable.h"
#include "fs/store/exchange.h"
#include "fs/store/exchange_note.h"
#include "fs/store/guard.h"
#include "fs/store/moves.h"
#include "fs/store/pack_file.h"
#include "fs/store/rewrite.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"
#include "fs/store/usage.h"

enum {
	FANS = 256,
	TICK_NSEC = 20 * 1000 * 1000, /* longer than a tick of any clock */
	SIGN_OF_LIFE = 4096,	      /* files */
	NOTE_NAME_SIZE = 32
};

static int complain(struct collect_run *run, int err, const char *what)
{
	if (err && !run->result->trouble[0])
		snprintf(run->result->trouble, sizeof(run->result->trouble),
			 "%s: %s", what, strerror(-err));
	return err;
}

static int64_t age_of(const struct collect_run *run, const struct stat *st)
{
	return run->mark.begun.tv_sec - st->st_ctim.tv_sec;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* What the names in a directory are given to. */
typedef int visitor(struct collect_run *run, int dir, const char *name);

static int visit_all(struct collect_run *run, int parent, const char *name,
		     visitor *visit)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(parent, name);
	struct dirent *entry;
	int err = 0;

	if (!stream)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : complain(run, -errno, name);
	while (!err && (entry = fd_list_next(stream)))
		err = visit(run, dirfd(stream), entry->d_name);
	return complain(run, err ? err : -errno, name);
}

/*
 * A publication that was given up; a link that was left for a collector; the
 * moves and exchanges of somebody who has died, perhaps in one. In a shared
 * store another user may collect, too, and need the link.
 */
static int drop_intent(struct collect_run *run, int dir, const char *name)
{
	struct stat st;
	bool old = fd_stat_at(dir, name, &st) == 0 &&
		   age_of(run, &st) > run->options->intents;

	if (run->options->dry_run || (store_is_shared(run->store) && !old) ||
	    guard_drop_left(run->store, name))
		return 0;
	if (old && (fd_draft_name_is(name) || moves_name_is(name) ||
		    exchange_note_name_is(name)))
		unlinkat(dir, name, 0);
	return 0;
}

/*
 * Where others may collect, too, links are left for them as long as intents
 * are: what was found so long ago is not known any more.
 */
static bool is_too_late(const struct collect_run *run)
{
	struct stat st;

	return store_is_shared(run->store) &&
	       (fd_stat(run->collector.fd, &st) < 0 ||
		st.st_ctim.tv_sec - run->mark.begun.tv_sec >
			run->options->intents / 2);
}

int collect_goes_on(struct collect_run *run)
{
	int err = collector_goes_on(&run->collector);

	if (!err && is_too_late(run))
		return complain(run, -ESTALE, "it took too long");
	return complain(run, err,
			err == -ESTALE ? "somebody else began to collect"
				       : "intents/" COLLECTOR_NAME);
}

/* In a shared store only who owns a pack, or the store, can take it away. */
static bool may_take(const struct collect_run *run, const struct stat *st)
{
	uid_t uid = geteuid();

	return !store_is_shared(run->store) || uid == 0 || uid == st->st_uid ||
	       uid == run->store->owner;
}

/* More than 0 when it is gone, or not ours to take away. */
static int look_at_pack(struct collect_run *run, int dir, const char *name,
			struct stat *st)
{
	if (fd_stat_at(dir, name, st) < 0)
		return errno == ENOENT ? 1 : complain(run, -errno, name);
	return !S_ISREG(st->st_mode) || !may_take(run, st);
}

static int set_aside(struct collect_run *run, int dir, const char *name)
{
	struct collect_result *result = run->result;
	struct digest id;
	struct stat st;
	int err = 0;

	if (digest_from_text(name, &id) ||
	    pack_set_marks(&run->mark.packs, &id))
		return 0;
	err = look_at_pack(run, dir, name, &st);
	if (err || age_of(run, &st) < run->options->grace)
		return err < 0 ? err : 0;
	err = collect_goes_on(run);
	if (err)
		return err;
	if (!run->options->dry_run)
		err = set_aside_pack(run->store, &id);
	if (err) /* it stays when the disk is too full even for its name */
		return err == -ENOENT || err == -ENOSPC || err == -EDQUOT
			       ? 0
			       : complain(run, err, "packs");
	result->set_aside_packs++;
	result->set_aside_bytes += (uint64_t)st.st_size;
	return 0;
}

/* What does not need the packs any more must not need them after a crash. */
static int settle_names(struct collect_run *run)
{
	int err = 0;

	if (!run->settled && !run->options->dry_run && !run->store->has_journal)
		err = durable_all(run->store);
	run->settled = !err;
	return complain(run, err, "syncfs");
}

static int delete_pack(struct collect_run *run, int dir, const char *name,
		       const struct stat *st)
{
	int err = settle_names(run);

	if (!err)
		err = collect_goes_on(run);
	if (err)
		return err;
	if (!run->options->dry_run && unlinkat(dir, name, 0) < 0)
		return errno == ENOENT ? 0
				       : complain(run, -errno, "trash/packs");
	run->result->deleted_packs++;
	run->result->deleted_bytes += (uint64_t)st->st_size;
	return 0;
}

/* Needless before this mark began, and for as long as was asked. */
static int empty_trash(struct collect_run *run, int dir, const char *name)
{
	struct digest id;
	struct stat st;
	int err = 0;

	if (digest_from_text(name, &id))
		return 0;
	err = look_at_pack(run, dir, name, &st);
	if (err)
		return err < 0 ? err : 0;
	if (pack_set_marks(&run->mark.packs, &id)) {
		if (!run->options->dry_run)
			err = bring_back_pack(run->store, &id);
		run->result->restored_packs += !err;
		return err == -ENOENT ? 0 : complain(run, err, "trash/packs");
	}
	if (!is_before(&st.st_ctim, &run->mark.begun) ||
	    age_of(run, &st) < run->options->grace)
		return 0;
	return delete_pack(run, dir, name, &st);
}

static bool on_progress(void *context, size_t files)
{
	struct collect_run *run = context;

	if (files % SIGN_OF_LIFE == 0)
		(void)collector_goes_on(&run->collector);
	return !run->options->progress ||
	       run->options->progress(run->options->context, files);
}

static int mark(struct collect_run *run)
{
	struct mark *m = &run->mark;
	int err;

	run->settled = false;
	m->progress = on_progress;
	m->context = run;
	err = mark_packs(run->store, m);
	if (err) {
		snprintf(run->result->trouble, sizeof(run->result->trouble),
			 "%s", m->walk.trouble);
		return err;
	}
	run->result->files = m->files;
	run->result->packs = m->packs.count;
	if (!run->options->dry_run)
		usage_note_manifests(run->store, m->bytes);
	return collect_goes_on(run);
}

static int rewrite_goes_on(void *context, size_t files)
{
	struct collect_run *run = context;
	int err = collect_goes_on(run);

	if (err || !run->options->progress)
		return err;
	return run->options->progress(run->options->context, files)
		       ? 0
		       : -ECANCELED;
}

/*
 * Before the mark, which then finds the old packs needless. On a full disk it
 * fails, and all the rest must go on.
 */
static int rewrite(struct collect_run *run)
{
	struct rewrite_options options = {
		.percent = run->options->rewrite,
		.before = run->mark.begun.tv_sec - run->options->grace + 1,
		.begun = run->mark.begun,
		.dry_run = run->options->dry_run,
		.ticker = { .goes_on = rewrite_goes_on, .context = run },
	};
	struct rewrite_result result;
	int err;

	if (!options.percent)
		return 0;
	err = store_rewrite(run->store, &options, &result);
	run->result->rewritten_packs = result.packs;
	run->result->rewritten_bytes = result.bytes;
	if (err == -ECANCELED || err == -ESTALE)
		return complain(run, err, "packs");
	memcpy(run->result->not_rewritten, result.trouble,
	       sizeof(result.trouble));
	return 0;
}

static int set_all_aside(struct collect_run *run)
{
	int err = 0;

	for (int i = 0; i < FANS && !err; i++) {
		char fan[3];

		snprintf(fan, sizeof(fan), "%02x", (unsigned)i);
		err = visit_all(run, run->store->packs, fan, set_aside);
	}
	return err;
}

/* Both halves; the second one is of what earlier collections set aside. */
static int collect_once(struct collect_run *run)
{
	int err = mark(run);

	if (!err)
		err = visit_all(run, run->store->trash, "packs", empty_trash);
	return err ? err : set_all_aside(run);
}

static int expire(struct collect_run *run)
{
	/* Dropping intents has changed the files that have names in trash/,
	 * too. */
	int err = clock_ask(run->store, &run->mark.begun);

	if (!err)
		err = trash_expire(
			run->store,
			run->mark.begun.tv_sec - run->options->keep + 1,
			run->options->dry_run, &run->result->expired_files);
	return complain(run, err, "trash/refs");
}

int collect_packs(struct collect_run *run)
{
	const struct timespec tick = { .tv_nsec = TICK_NSEC };
	size_t before = run->result->set_aside_packs;
	int err = collect_once(run);

	if (err || run->options->grace || run->options->dry_run ||
	    run->result->set_aside_packs == before)
		return err;
	nanosleep(&tick, NULL);
	err = mark(run);
	return err ? err
		   : visit_all(run, run->store->trash, "packs", empty_trash);
}

/*
 * When somebody last collected: the mtime of an empty file. In a shared store
 * each user collects what is his.
 */
static void note_name(const struct store *store, char name[NOTE_NAME_SIZE])
{
	if (store_is_shared(store))
		snprintf(name, NOTE_NAME_SIZE, "stats/collected-%u",
			 (unsigned)geteuid());
	else
		snprintf(name, NOTE_NAME_SIZE, "stats/collected");
}

static void note_collection(struct store *store)
{
	AUTO_CLOSE int fd = -1;
	char name[NOTE_NAME_SIZE];

	note_name(store, name);
	fd = fd_open(store->root, name, O_WRONLY | O_CREAT | O_NOFOLLOW,
		     store->file_mode);
	if (fd >= 0)
		(void)futimens(fd, NULL);
}

bool collect_is_due(struct store *store, unsigned seconds)
{
	char name[NOTE_NAME_SIZE];
	struct timespec now;
	struct stat st;

	if (!store_can_collect(store))
		return false;
	note_name(store, name);
	if (fd_stat_at(store->root, name, &st) < 0)
		return true;
	return clock_ask(store, &now) == 0 &&
	       now.tv_sec - st.st_ctim.tv_sec >= (time_t)seconds;
}

void collect_end(struct collect_run *run)
{
	collector_end(&run->collector);
	mark_free(&run->mark);
}

int collect_begin(struct collect_run *run)
{
	int err;

	if (!store_can_collect(run->store))
		return complain(run, -EOPNOTSUPP,
				"it was made before packs could be deleted");
	err = collector_begin(run->store, COLLECTOR_STALE_SECONDS,
			      &run->collector);
	if (err)
		return complain(run, err,
				err == -EBUSY ? "somebody else collects"
					      : "intents");
	err = clock_ask(run->store, &run->mark.begun);
	if (!err && !run->options->dry_run)
		err = exchange_finish(run->store, run->options->intents);
	if (!err)
		err = visit_all(run, run->store->intents, ".", drop_intent);
	if (err)
		collect_end(run);
	return complain(run, err, "intents");
}

int store_collect(struct store *store, const struct collect_options *options,
		  struct collect_result *result)
{
	struct collect_run run = { .store = store,
				   .options = options,
				   .result = result };
	int err;

	*result = (struct collect_result){ 0 };
	err = collect_begin(&run);
	if (err)
		return err;
	err = expire(&run);
	if (!err)
		err = rewrite(&run);
	if (!err)
		err = collect_packs(&run);
	if (!err && !options->dry_run)
		note_collection(store);
	collect_end(&run);
	return err;
}
