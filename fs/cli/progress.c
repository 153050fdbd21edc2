/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/progress.h"

#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <unistd.h>

enum { INTERVAL_MS = 200 };

struct progress progress_start(bool quiet)
{
	return (struct progress){ .wanted = !quiet && isatty(STDERR_FILENO) };
}

bool progress_is_due(struct progress *progress)
{
	struct timespec now;
	int64_t ms;

	if (!progress->wanted || clock_gettime(CLOCK_MONOTONIC, &now) < 0)
		return false;
	ms = (int64_t)(now.tv_sec - progress->drawn.tv_sec) * 1000 +
	     (now.tv_nsec - progress->drawn.tv_nsec) / 1000000;
	if (ms < INTERVAL_MS)
		return false;
	progress->drawn = now;
	return true;
}

void progress_draw(struct progress *progress, const char *format, ...)
{
	char line[80];
	va_list args;
	int width;

	va_start(args, format);
	vsnprintf(line, sizeof(line), format, args);
	va_end(args);
	width = fprintf(stderr, "\r%-*s", progress->width, line) - 1;
	fflush(stderr);
	progress->width = width > 0 ? width : 0;
}

void progress_erase(struct progress *progress)
{
	if (!progress->width)
		return;
	fprintf(stderr, "\r%*s\r", progress->width, "");
	fflush(stderr);
	progress->width = 0;
}
