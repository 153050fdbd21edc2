/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/report.h"

#include <errno.h>
#include <fcntl.h>
#include <stdlib.h>
#include <string.h>

#include "fs/fd.h"
#include "fs/own.h"
#include "fs/store/state.h"

static const char version_key[] = "tacfs_report";

enum { VERSION = 1 };

void report_add(struct report *to, const struct report *more)
{
	if (__builtin_add_overflow(to->mounts, more->mounts, &to->mounts))
		to->mounts = UINT64_MAX;
	if (__builtin_add_overflow(to->active, more->active, &to->active))
		to->active = UINT64_MAX;
	counts_add(&to->counts, &more->counts);
}

/* JSON's numbers are signed. */
static int put(json_t *object, const char *key, uint64_t value)
{
	json_int_t number = value > INT64_MAX ? INT64_MAX : (json_int_t)value;

	return json_object_set_new(object, key, json_integer(number));
}

static uint64_t take(const json_t *object, const char *key)
{
	json_int_t number = json_integer_value(json_object_get(object, key));

	return number > 0 ? (uint64_t)number : 0;
}

int counts_put(json_t *object, const struct counts *counts)
{
	int err = 0;

	for (int i = 0; i < COUNTER_COUNT; i++)
		err |= put(object, counter_about((enum counter)i)->name,
			   counts->value[i]);
	return err;
}

void counts_take(const json_t *object, struct counts *counts)
{
	for (int i = 0; i < COUNTER_COUNT; i++)
		counts->value[i] =
			take(object, counter_about((enum counter)i)->name);
}

int report_put(json_t *object, const struct report *report)
{
	return put(object, "mounts", report->mounts) |
	       put(object, "active", report->active) |
	       counts_put(object, &report->counts);
}

void report_take(const json_t *object, struct report *report)
{
	report->mounts = take(object, "mounts");
	report->active = take(object, "active");
	counts_take(object, &report->counts);
}

int report_parse(const void *bytes, size_t size, struct report *report)
{
	json_t *object = json_loadb(bytes, size, JSON_REJECT_DUPLICATES, NULL);
	int err = 0;

	if (take(object, version_key) == VERSION)
		report_take(object, report);
	else
		err = -EBADMSG;
	json_decref(object);
	return err;
}

static int check_file(const struct store *store, const struct stat *st)
{
	if (!S_ISREG(st->st_mode) || st->st_size > REPORT_MAX)
		return -EBADMSG;
	return store_trusts(store, st->st_uid) ? 0 : -EPERM;
}

int report_read(const struct store *store, int dir, const char *name,
		struct report *report, struct stat *st)
{
	AUTO_CLOSE int fd = -1;
	char bytes[REPORT_MAX];
	int err;

	fd = fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK | O_NOCTTY,
		     0);
	if (fd < 0 || fd_stat(fd, st) < 0)
		return -errno;
	err = check_file(store, st);
	if (!err)
		err = fd_read_at(fd, bytes, (size_t)st->st_size, 0);
	return err ? err : report_parse(bytes, (size_t)st->st_size, report);
}

static char *text_of(const struct report *report)
{
	json_t *object = json_object();
	char *text = NULL;

	if (put(object, version_key, VERSION) == 0 &&
	    report_put(object, report) == 0)
		text = json_dumps(object, JSON_INDENT(1));
	json_decref(object);
	return text;
}

int report_write(const struct store *store, int dir, const char *name,
		 const struct report *report)
{
	AUTO_FREE char *text = text_of(report);
	struct fd_draft draft;
	int err;

	if (!text)
		return -ENOMEM;
	err = fd_draft_open(store->tmp, store->file_mode, &draft);
	if (err)
		return err;
	err = fd_write_at(draft.fd, text, strlen(text), 0);
	if (!err)
		err = fd_draft_replace(&draft, dir, name);
	fd_draft_close(&draft);
	return err;
}
