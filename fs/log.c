/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/log.h"

#include <inttypes.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <string.h>
#include <syslog.h>
#include <time.h>
#include <unistd.h>

enum { MESSAGE_MAX = 1024, LINE_MAX_SIZE = 4 * MESSAGE_MAX + 64 };

static const struct {
	const char *word;
	int priority;
} levels[] = {
	[LOG_LEVEL_ERROR] = { "error", LOG_ERR },
	[LOG_LEVEL_WARNING] = { "warning", LOG_WARNING },
	[LOG_LEVEL_INFO] = { "info", LOG_INFO },
};

/* The bytes of a UTF-8 sequence by its first byte; 0 when it cannot be one. */
static size_t sequence_size(uint8_t first)
{
	if (first >= 0xc2 && first <= 0xdf)
		return 2;
	if (first >= 0xe0 && first <= 0xef)
		return 3;
	if (first >= 0xf0 && first <= 0xf4)
		return 4;
	return 0;
}

/*
 * How many bytes at `text` may be shown as they are: a printable ASCII
 * character, or a UTF-8 sequence beyond the C1 control characters.
 */
static size_t printable(const char *text)
{
	uint8_t first = (uint8_t)text[0];
	size_t size = sequence_size(first);

	if (first >= 0x20 && first < 0x7f)
		return first == '\\' ? 0 : 1;
	for (size_t i = 1; i < size; i++)
		if (((uint8_t)text[i] & 0xc0) != 0x80)
			return 0;
	if (first == 0xc2 && (uint8_t)text[1] < 0xa0)
		return 0;
	return size;
}

size_t log_escape(const char *text, char *line)
{
	size_t size = 0;

	while (*text) {
		size_t plain = printable(text);

		if (plain) {
			memcpy(line + size, text, plain);
			size += plain;
			text += plain;
		} else {
			size += (size_t)sprintf(line + size, "\\x%02x",
						(unsigned)(uint8_t)*text++);
		}
	}
	line[size] = '\0';
	return size;
}

static void write_line(const struct log *log, enum log_level level,
		       const char *message)
{
	char line[LINE_MAX_SIZE];
	size_t size;

	if (log->to_syslog) {
		log_escape(message, line);
		syslog(levels[level].priority, "%s", line);
		return;
	}
	size = (size_t)sprintf(line, "tacfs: %s: ", levels[level].word);
	size += log_escape(message, line + size);
	line[size++] = '\n';
	if (write(STDERR_FILENO, line, size) < 0)
		return; /* there is nobody to tell */
}

static int64_t now(void)
{
	struct timespec time;

	clock_gettime(CLOCK_MONOTONIC, &time);
	return time.tv_sec;
}

/* With the lock held. NULL when there are more kinds than places. */
static struct log_kind *find_kind(struct log_limits *limits, const char *format)
{
	size_t start = ((uintptr_t)format >> 4) % LOG_KINDS;

	for (size_t i = 0; i < LOG_KINDS; i++) {
		struct log_kind *kind = &limits->kinds[(start + i) % LOG_KINDS];

		if (kind->format == format)
			return kind;
		if (!kind->format) {
			*kind = (struct log_kind){ .format = format,
						   .left = LOG_BURST,
						   .second = now() };
			return kind;
		}
	}
	return NULL;
}

/* Whether to write an event; then *omitted says how many before it were not. */
static bool take_turn(struct log_limits *limits, const char *format,
		      uint64_t *omitted)
{
	struct log_kind *kind;
	bool taken = true;

	*omitted = 0;
	pthread_mutex_lock(&limits->lock);
	kind = find_kind(limits, format);
	if (kind) {
		int64_t second = now();
		int64_t left = kind->left + (second - kind->second);

		kind->left = left < LOG_BURST ? (unsigned)left : LOG_BURST;
		kind->second = second;
		taken = kind->left > 0;
		kind->left -= taken;
		*omitted = kind->omitted;
		kind->omitted = taken ? 0 : kind->omitted + 1;
	}
	pthread_mutex_unlock(&limits->lock);
	return taken;
}

void log_event(const struct log *log, enum log_level level, const char *format,
	       ...)
{
	char message[MESSAGE_MAX];
	uint64_t omitted = 0;
	int size;
	va_list args;

	if (!log || level > log->level)
		return;
	if (log->limits && !take_turn(log->limits, format, &omitted))
		return;
	va_start(args, format);
	size = vsnprintf(message, sizeof(message), format, args);
	va_end(args);
	if (omitted && size >= 0 && (size_t)size < sizeof(message))
		snprintf(message + size, sizeof(message) - (size_t)size,
			 " (and %" PRIu64 " like this before)", omitted);
	write_line(log, level, message);
}

void log_end(const struct log *log)
{
	char message[MESSAGE_MAX];

	for (size_t i = 0; log && log->limits && i < LOG_KINDS; i++) {
		struct log_kind *kind = &log->limits->kinds[i];

		if (!kind->omitted)
			continue;
		snprintf(message, sizeof(message),
			 "%" PRIu64 " more were left out like: %s",
			 kind->omitted, kind->format);
		kind->omitted = 0;
		write_line(log, LOG_LEVEL_WARNING, message);
	}
}
