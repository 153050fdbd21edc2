/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_LOG_H
#define TACFS_FS_LOG_H

/*
 * One line an event, to standard error or to syslog. Names are escaped; no
 * content of users is ever logged. Of one kind of event not more than some at
 * once and one a second are written; how many were left out is said.
 */

#include <pthread.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO };

enum { LOG_KINDS = 64, LOG_BURST = 20 };

/* What was written of the events that have one format. */
struct log_kind {
	const char *format; /* for comparison only; NULL: unused */
	unsigned left;	    /* may be written now */
	int64_t second;	    /* when that was counted */
	uint64_t omitted;   /* since the last one that was written */
};

/* Begins as LOG_LIMITS. */
struct log_limits {
	pthread_mutex_t lock;
	struct log_kind kinds[LOG_KINDS]; /* by a hash of the format */
};

#define LOG_LIMITS                                                             \
	{                                                                      \
		.lock = PTHREAD_MUTEX_INITIALIZER                              \
	}

struct log {
	bool to_syslog;		   /* else standard error */
	enum log_level level;	   /* the least severe that is written */
	struct log_limits *limits; /* borrowed; NULL: all is written */
};

/*
 * `log` may be NULL: then nothing is written. Safe from any thread. Events of
 * one kind are those with the same format.
 */
void log_event(const struct log *log, enum log_level level, const char *format,
	       ...) __attribute__((format(printf, 3, 4)));

/* Says what was left out and not said yet. */
void log_end(const struct log *log);

/*
 * Writes `text` so that it is one line that can be shown, and a NUL. There is
 * room in `line` for 4 times its size, and the NUL. Returns how long the line
 * is.
 */
size_t log_escape(const char *text, char *line);

#endif
