/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/reports.h"

#include <dirent.h>
#include <errno.h>
#include <fcntl.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <time.h>
#include <unistd.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"
#include "fs/store/clock.h"
#include "fs/store/state.h"

enum { ID_DIGITS = REPORT_ID_SIZE - 1, ATTEMPTS = 8, CLAIM_STALE = 60 * 60 };

/*
 * A file of stats/: ID.json, or ID.CLAIM when the folder CLAIM has taken it. It
 * then is replaced by CLAIM.json, as soon as that is there.
 */
struct entry {
	char id[REPORT_ID_SIZE];
	char claim[REPORT_ID_SIZE]; /* or empty */
};

struct entries {
	struct entry *list; /* sorted */
	size_t count;
	size_t capacity;
};

int reports_open(const struct store *store)
{
	int dir = fd_open(store->root, "stats",
			  O_RDONLY | O_DIRECTORY | O_NOFOLLOW, 0);

	return dir < 0 ? -errno : dir;
}

void report_name(const char *id, char name[REPORT_NAME_SIZE])
{
	snprintf(name, REPORT_NAME_SIZE, "%s.json", id);
}

static void entry_name(const struct entry *entry, char name[REPORT_NAME_SIZE])
{
	snprintf(name, REPORT_NAME_SIZE, "%s.%s", entry->id,
		 entry->claim[0] ? entry->claim : "json");
}

static bool take_id(const char *text, char id[REPORT_ID_SIZE])
{
	if (strspn(text, "0123456789abcdef") != ID_DIGITS)
		return false;
	memcpy(id, text, ID_DIGITS);
	id[ID_DIGITS] = '\0';
	return true;
}

static bool parse_name(const char *name, struct entry *entry)
{
	const char *end = name + REPORT_ID_SIZE;

	*entry = (struct entry){ .claim = "" };
	if (!take_id(name, entry->id) || name[ID_DIGITS] != '.')
		return false;
	if (strcmp(end, "json") == 0)
		return true;
	return take_id(end, entry->claim) && !end[ID_DIGITS];
}

static int add(struct entries *entries, const struct entry *entry)
{
	if (entries->count == entries->capacity) {
		size_t more = entries->capacity ? entries->capacity * 2 : 64;
		struct entry *list =
			reallocarray(entries->list, more, sizeof(*list));

		if (!list)
			return -ENOMEM;
		entries->list = list;
		entries->capacity = more;
	}
	entries->list[entries->count++] = *entry;
	return 0;
}

static int compare(const void *a, const void *b)
{
	return memcmp(a, b, sizeof(struct entry));
}

/* The caller frees the list, also when this fails. */
static int list(int dir, struct entries *entries)
{
	AUTO_CLOSEDIR DIR *stream = fd_list(dir, ".");
	struct dirent *dirent;
	struct entry entry;
	int err = 0;

	*entries = (struct entries){ .count = 0 };
	if (!stream)
		return -errno;
	while (!err && entries->count < REPORTS_MAX &&
	       (dirent = fd_list_next(stream)))
		if (parse_name(dirent->d_name, &entry))
			err = add(entries, &entry);
	if (!err && entries->count < REPORTS_MAX)
		err = -errno;
	if (entries->count)
		qsort(entries->list, entries->count, sizeof(entry), compare);
	return err;
}

static bool same(const struct entries *a, const struct entries *b)
{
	return a->count == b->count &&
	       (!a->count ||
		memcmp(a->list, b->list, a->count * sizeof(*a->list)) == 0);
}

/* Whether there is a file with that id, whoever has claimed it. */
static bool has_id(const struct entries *entries, const char *id)
{
	size_t low = 0;
	size_t high = entries->count;

	while (low < high) {
		size_t middle = low + (high - low) / 2;
		int order = strcmp(entries->list[middle].id, id);

		if (!order)
			return true;
		if (order < 0)
			low = middle + 1;
		else
			high = middle;
	}
	return false;
}

static bool is_replaced(const struct entries *entries,
			const struct entry *entry)
{
	return entry->claim[0] && has_id(entries, entry->claim);
}

/* Whether the mount has said so, or must have been killed. */
static bool has_ended(const struct store *store, const struct report *report,
		      const struct stat *st)
{
	return !report->active ||
	       clock_now(store).tv_sec - st->st_mtime > REPORT_STALE;
}

static void sum_entries(const struct store *store, int dir,
			const struct entries *entries, const char *without,
			struct report *sum)
{
	*sum = (struct report){ .mounts = 0 };
	for (size_t i = 0; i < entries->count; i++) {
		const struct entry *entry = &entries->list[i];
		char name[REPORT_NAME_SIZE];
		struct report report;
		struct stat st;

		if ((without && strcmp(entry->id, without) == 0) ||
		    is_replaced(entries, entry))
			continue;
		entry_name(entry, name);
		if (report_read(store, dir, name, &report, &st) != 0)
			continue;
		if (has_ended(store, &report, &st))
			report.active = 0;
		report_add(sum, &report);
	}
}

/* A sum is right when the same files were there before and after it. */
int reports_sum(const struct store *store, const char *without,
		struct report *sum)
{
	AUTO_CLOSE int dir = reports_open(store);
	struct entries before;
	struct entries after;
	bool stable = false;
	int err;

	if (dir < 0)
		return dir;
	err = list(dir, &before);
	for (int i = 0; !err && !stable && i < ATTEMPTS; i++) {
		sum_entries(store, dir, &before, without, sum);
		err = list(dir, &after);
		stable = same(&before, &after);
		free(before.list);
		before = after;
	}
	free(before.list);
	return err;
}

/*
 * Whether the file may be claimed: ours, and nobody will write to it any more,
 * nor is at folding it.
 */
static bool is_foldable(const struct store *store, int dir,
			const struct entry *entry)
{
	char name[REPORT_NAME_SIZE];
	struct report report;
	struct stat st;

	entry_name(entry, name);
	if (report_read(store, dir, name, &report, &st) != 0 ||
	    st.st_uid != store->uid)
		return false;
	return entry->claim[0]
		       ? clock_now(store).tv_sec - st.st_ctime > CLAIM_STALE
		       : has_ended(store, &report, &st);
}

/* Those that may be claimed; the caller frees the list. */
static int choose(const struct store *store, int dir,
		  const struct entries *entries, struct entries *chosen)
{
	int err = 0;

	*chosen = (struct entries){ .count = 0 };
	for (size_t i = 0; !err && i < entries->count; i++)
		if (!is_replaced(entries, &entries->list[i]) &&
		    is_foldable(store, dir, &entries->list[i]))
			err = add(chosen, &entries->list[i]);
	return err;
}

/* What a folder that was killed has left. */
static void remove_replaced(int dir, const struct entries *entries)
{
	for (size_t i = 0; i < entries->count; i++) {
		char name[REPORT_NAME_SIZE];

		if (!is_replaced(entries, &entries->list[i]))
			continue;
		entry_name(&entries->list[i], name);
		unlinkat(dir, name, 0);
	}
}

/* Only one of several folders can rename it. Then nobody changes it. */
static bool claim(const struct store *store, int dir, struct entry *entry,
		  const char *id, struct report *report)
{
	char old[REPORT_NAME_SIZE];
	char new[REPORT_NAME_SIZE];
	struct stat st;

	entry_name(entry, old);
	memcpy(entry->claim, id, REPORT_ID_SIZE);
	entry_name(entry, new);
	return renameat(dir, old, dir, new) == 0 &&
	       report_read(store, dir, new, report, &st) == 0;
}

static int fold(const struct store *store, int dir, struct entries *entries)
{
	struct report sum = { .mounts = 0 };
	char id[REPORT_ID_SIZE];
	char name[REPORT_NAME_SIZE];
	size_t claimed = 0;
	int err = random_hex(id, ID_DIGITS);

	if (err)
		return err;
	for (size_t i = 0; i < entries->count; i++) {
		struct report report;

		if (!claim(store, dir, &entries->list[i], id, &report))
			continue;
		report_add(&sum, &report);
		entries->list[claimed++] = entries->list[i];
	}
	sum.active = 0;
	report_name(id, name);
	if (claimed)
		err = report_write(store, dir, name, &sum);
	for (size_t i = 0; !err && i < claimed; i++) {
		entry_name(&entries->list[i], name);
		unlinkat(dir, name, 0);
	}
	return err;
}

int reports_fold(const struct store *store, size_t least)
{
	AUTO_CLOSE int dir = reports_open(store);
	struct entries entries;
	struct entries chosen;
	int err;

	if (dir < 0)
		return dir;
	err = list(dir, &entries);
	if (!err) {
		remove_replaced(dir, &entries);
		err = choose(store, dir, &entries, &chosen);
		if (!err && chosen.count >= least && chosen.count > 1)
			err = fold(store, dir, &chosen);
		free(chosen.list);
	}
	free(entries.list);
	return err;
}
