/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_REPORTS_H
#define TACFS_FS_STORE_REPORTS_H

/*
 * The reports of all mounts of a store, in stats/. docs/format.md, "Reports".
 */

#include "fs/store/report.h"

enum {
	REPORT_ID_SIZE = 33,	    /* 32 hex digits and a NUL */
	REPORT_NAME_SIZE = 80,	    /* of a file in stats/ */
	REPORT_STALE = 6 * 60 * 60, /* seconds without a write: it has ended */
	REPORTS_MAX = 8192	    /* more than that are not looked at */
};

/* The directory; the caller closes it. Or a negative errno. */
int reports_open(const struct store *store);

/* The name of the report with that id. */
void report_name(const char *id, char name[REPORT_NAME_SIZE]);

/*
 * The sum of all reports, but not of the one whose id is `without` (NULL: of
 * all). What is damaged or of somebody else is left out. 0, or a negative
 * errno.
 */
int reports_sum(const struct store *store, const char *without,
		struct report *sum);

/*
 * Makes one file of those of our own mounts that have ended, when there are at
 * least `least` of them. 0, or a negative errno; what was not folded then still
 * counts.
 */
int reports_fold(const struct store *store, size_t least);

#endif
