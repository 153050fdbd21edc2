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
#include "fs/store/collector.h"
#include "fs/store/guard.h"
#include "fs/store/mark.h"
#include "fs/store/moves.h"
#include "fs/store/pack_file.h"
#include "fs/store/set_aside.h"
#include "fs/store/state.h"
#include "fs/store/trash.h"

enum {
	FANS = 256,
	TICK_NSEC = 20 * 1000 * 1000, /* longer than a tick of any clock */
	SIGN_OF_LIFE = 4096,	      /* files */
	DIR_FLAGS = O_RDONLY | O_DIRECTORY | O_NOFOLLOW | O_CLOEXEC
};

struct run {
	struct store *store;
	const struct collect_options *options;
	struct collect_result *result;
	struct collector collector;
	struct mark mark;
};

static int complain(struct run *run, int err, const char *what)
{
	if (err && !run->result->trouble[0])
		snprintf(run->result->trouble, sizeof(run->result->trouble),
			 "%s: %s", what, strerror(-err));
	return err;
}

static int64_t age_of(const struct run *run, const struct stat *st)
{
	return run->mark.begun.tv_sec - st->st_ctim.tv_sec;
}

static bool is_before(const struct timespec *a, const struct timespec *b)
{
	return a->tv_sec < b->tv_sec ||
	       (a->tv_sec == b->tv_sec && a->tv_nsec < b->tv_nsec);
}

/* What the names in a directory are given to. */
typedef int visitor(struct run *run, int dir, const char *name);

static int visit_all(struct run *run, int parent, const char *name,
		     visitor *visit)
{
	AUTO_CLOSEDIR DIR *stream = NULL;
	int dir = openat(parent, name, DIR_FLAGS);
	struct dirent *entry;
	int err = 0;

	if (dir < 0)
		return errno == ENOENT || errno == ENOTDIR
			       ? 0
			       : complain(run, -errno, name);
	stream = fdopendir(dir);
	if (!stream) {
		err = complain(run, -errno, name);
		close(dir);
		return err;
	}
	while (!err && (errno = 0, entry = readdir(stream)))
		err = visit(run, dir, entry->d_name);
	return complain(run, err ? err : -errno, name);
}

/*
 * A publication that was given up; a link that was left for a collector; the
 * moves of somebody who has died, perhaps in one.
 */
static int drop_intent(struct run *run, int dir, const char *name)
{
	struct stat st;

	if (run->options->dry_run || guard_drop_left(run->store, name))
		return 0;
	if ((fd_draft_name_is(name) || moves_name_is(name)) &&
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) == 0 &&
	    age_of(run, &st) > run->options->intents)
		unlinkat(dir, name, 0);
	return 0;
}

/* Asked before each change, since there may be hours between two. */
static int may_go_on(struct run *run)
{
	int err = collector_goes_on(&run->collector);

	return complain(run, err,
			err == -ESTALE ? "somebody else began to collect"
				       : "intents/" COLLECTOR_NAME);
}

static int set_aside(struct run *run, int dir, const char *name)
{
	struct collect_result *result = run->result;
	struct digest id;
	struct stat st;
	int err = 0;

	if (digest_from_text(name, &id) ||
	    pack_set_marks(&run->mark.packs, &id))
		return 0;
	if (fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0 ||
	    !S_ISREG(st.st_mode) || age_of(run, &st) < run->options->grace)
		return 0;
	err = may_go_on(run);
	if (err)
		return err;
	if (!run->options->dry_run)
		err = set_aside_pack(run->store, &id);
	if (err)
		return err == -ENOENT ? 0 : complain(run, err, "packs");
	result->set_aside_packs++;
	result->set_aside_bytes += (uint64_t)st.st_size;
	return 0;
}

static int delete_pack(struct run *run, int dir, const char *name,
		       const struct stat *st)
{
	int err = may_go_on(run);

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
static int empty_trash(struct run *run, int dir, const char *name)
{
	struct digest id;
	struct stat st;
	int err = 0;

	if (digest_from_text(name, &id) ||
	    fstatat(dir, name, &st, AT_SYMLINK_NOFOLLOW) < 0)
		return 0;
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
	struct run *run = context;

	if (files % SIGN_OF_LIFE == 0)
		(void)collector_goes_on(&run->collector);
	return !run->options->progress ||
	       run->options->progress(run->options->context, files);
}

static int mark(struct run *run)
{
	struct mark *m = &run->mark;
	int err;

	m->progress = on_progress;
	m->context = run;
	err = mark_packs(run->store, m);
	if (err) {
		snprintf(run->result->trouble, sizeof(run->result->trouble),
			 "%s", m->trouble);
		return err;
	}
	run->result->files = m->files;
	run->result->packs = m->packs.count;
	return may_go_on(run);
}

static int set_all_aside(struct run *run)
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
static int collect_once(struct run *run)
{
	int err = mark(run);

	if (!err)
		err = visit_all(run, run->store->trash, "packs", empty_trash);
	return err ? err : set_all_aside(run);
}

static int expire(struct run *run)
{
	int err = mark_now(run->store, &run->mark.begun);

	if (!err)
		err = visit_all(run, run->store->intents, ".", drop_intent);
	if (!err)
		err = trash_expire(
			run->store,
			run->mark.begun.tv_sec - run->options->keep + 1,
			run->options->dry_run, &run->result->expired_files);
	return complain(run, err, "trash/refs");
}

static int collect(struct run *run)
{
	const struct timespec tick = { .tv_nsec = TICK_NSEC };
	int err = expire(run);

	if (!err)
		err = collect_once(run);
	if (err || run->options->grace || run->options->dry_run ||
	    !run->result->set_aside_packs)
		return err;
	nanosleep(&tick, NULL);
	err = mark(run);
	return err ? err
		   : visit_all(run, run->store->trash, "packs", empty_trash);
}

/* When somebody last collected: the mtime of an empty file. */
static void note_collection(struct store *store)
{
	AUTO_CLOSE int fd = openat(store->root, "stats/collected",
				   O_WRONLY | O_CREAT | O_NOFOLLOW | O_CLOEXEC,
				   store->file_mode);

	if (fd >= 0)
		(void)futimens(fd, NULL);
}

bool collect_is_due(struct store *store, unsigned seconds)
{
	struct timespec now;
	struct stat st;

	if (fstatat(store->root, "stats/collected", &st, AT_SYMLINK_NOFOLLOW) <
	    0)
		return true;
	return mark_now(store, &now) == 0 &&
	       now.tv_sec - st.st_ctim.tv_sec >= (time_t)seconds;
}

int store_collect(struct store *store, const struct collect_options *options,
		  struct collect_result *result)
{
	struct run run = { .store = store,
			   .options = options,
			   .result = result };
	int err;

	*result = (struct collect_result){ 0 };
	err = collector_begin(store, COLLECTOR_STALE_SECONDS, &run.collector);
	if (err)
		return complain(&run, err,
				err == -EBUSY ? "somebody else collects"
					      : "intents");
	err = collect(&run);
	if (!err && !options->dry_run)
		note_collection(store);
	collector_end(&run.collector);
	mark_free(&run.mark);
	return err;
}
