/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_LOG_H
#define TACFS_FS_LOG_H

/*
 * One line an event, to standard error or to syslog. Names are escaped; no
 * content of users is ever logged.
 */

#include <stdbool.h>
#include <stddef.h>

enum log_level { LOG_LEVEL_ERROR, LOG_LEVEL_WARNING, LOG_LEVEL_INFO };

struct log {
	bool to_syslog;	      /* else standard error */
	enum log_level level; /* the least severe that is written */
};

/* `log` may be NULL: then nothing is written. Safe from any thread. */
void log_event(const struct log *log, enum log_level level, const char *format,
	       ...) __attribute__((format(printf, 3, 4)));

/*
 * Writes `text` so that it is one line that can be shown, and a NUL. There is
 * room in `line` for 4 times its size, and the NUL. Returns how long the line
 * is.
 */
size_t log_escape(const char *text, char *line);

#endif
