/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_PROGRESS_H
#define TACFS_FS_CLI_PROGRESS_H

/*
 * A line on the terminal that says how far a long command is, drawn again at
 * most 5 times a second, and erased at the end.
 */

#include <stdbool.h>
#include <time.h>

struct progress {
	bool wanted;
	int width; /* of what is drawn now */
	struct timespec drawn;
};

/* Nothing is ever drawn when standard error is no terminal, or `quiet`. */
struct progress progress_start(bool quiet);
/* Whether it is time to draw the line again. */
bool progress_is_due(struct progress *progress);
void progress_draw(struct progress *progress, const char *format, ...)
	__attribute__((format(printf, 2, 3)));
/* Before anything else is written; the line comes back when it is due. */
void progress_erase(struct progress *progress);

#endif
