/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_PROGRESS_H
#define TACFS_FS_CLI_PROGRESS_H

/* A line that shows how far long work is, where standard error is a terminal.
 */

#include <stdbool.h>
#include <time.h>

struct progress {
	bool wanted;
	bool shown;
	struct timespec last;
};

struct progress progress_start(bool wanted);
/* Draws the line anew, a few times a second at most. */
void progress_show(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Erases it. */
void progress_end(struct progress *progress);

#endif
