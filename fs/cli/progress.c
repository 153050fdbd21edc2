/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/progress.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { NSEC = 1000 * 1000 * 1000, INTERVAL_NSEC = NSEC / 5 };

struct progress progress_start(bool wanted)
{
	return (struct progress){ .wanted = wanted && isatty(STDERR_FILENO) };
}

static bool is_due(struct progress *progress)
{
	struct timespec now;
	int64_t passed;

	if (clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return false;
	passed = (int64_t)(now.tv_sec - progress->last.tv_sec) * NSEC +
		 now.tv_nsec - progress->last.tv_nsec;
	if (progress->shown && passed < INTERVAL_NSEC)
		return false;
	progress->last = now;
	return true;
}

void progress_show(struct progress *progress, const char *format, ...)
{
	va_list args;

	if (!progress->wanted || !is_due(progress))
		return;
	progress->shown = true;
	fputc('\r', stderr);
	va_start(args, format);
	vfprintf(stderr, format, args);
	va_end(args);
	fputs("\033[K", stderr);
}

void progress_end(struct progress *progress)
{
	if (progress->shown)
		fputs("\r\033[K", stderr);
	progress->shown = false;
}
