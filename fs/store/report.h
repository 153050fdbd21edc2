/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_REPORT_H
#define TACFS_FS_STORE_REPORT_H

/*
 * What mounts have counted, as a small JSON file in stats/. A file has one
 * owner who replaces it; reports.h sums, and folds, those of all.
 */

#include <jansson.h>
#include <sys/stat.h>

#include "fs/store/counters.h"

enum { REPORT_MAX = 16 * 1024 };

struct report {
	uint64_t mounts; /* whose counts these are */
	uint64_t active; /* of them: have not said that they ended */
	struct counts counts;
};

void report_add(struct report *to, const struct report *more);

/* Members for each counter, added to an object. 0, or -1 without memory. */
int counts_put(json_t *object, const struct counts *counts);
/* What is missing, or is no number from 0 on, counts as 0. */
void counts_take(const json_t *object, struct counts *counts);
/* The same of a whole report: mounts, active, and the counters. */
int report_put(json_t *object, const struct report *report);
void report_take(const json_t *object, struct report *report);

/* Parses the text of a file. 0; -EBADMSG when it is not a report. */
int report_parse(const void *bytes, size_t size, struct report *report);

/*
 * Reads the file `name` in `dir`, and its attributes. Returns 0; -EPERM for the
 * file of somebody who is not trusted; -EBADMSG for what is not a report; other
 * errnos.
 */
int report_read(const struct store *store, int dir, const char *name,
		struct report *report, struct stat *st);
/* In place of what has the name. 0, or a negative errno. */
int report_write(const struct store *store, int dir, const char *name,
		 const struct report *report);

#endif
