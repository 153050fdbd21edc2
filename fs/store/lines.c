/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/lines.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/digest.h"
#include "fs/fd.h"
#include "fs/own.h"

enum {
	HEX64_DIGITS = 16,
	CHECK_LINE_SIZE = 7 + HEX64_DIGITS + 1 /* "check: ", a newline */
};

void lines_refuse(struct lines *lines, int err, const char *format, ...)
{
	va_list args;
	int used;

	if (lines->err)
		return;
	lines->err = err;
	used = snprintf(lines->why, lines->why_size, "%s ", lines->name);
	if (used < 0 || (size_t)used >= lines->why_size)
		return;
	va_start(args, format);
	vsnprintf(lines->why + used, lines->why_size - (size_t)used, format,
		  args);
	va_end(args);
}

static bool is_printable(const char *text, size_t size)
{
	for (size_t i = 0; i < size; i++)
		if (text[i] < 0x20 || text[i] > 0x7e)
			return false;
	return true;
}

/* Where the value of a line begins: 0 when the line is not of this key. */
static size_t value_start(const char *line, size_t size, const char *key)
{
	size_t colon = strlen(key);

	if (size <= colon || memcmp(line, key, colon) != 0 ||
	    line[colon] != ':')
		return 0;
	if (size == colon + 1)
		return size; /* an empty value */
	return line[colon + 1] == ' ' && size > colon + 2 ? colon + 2 : 0;
}

void lines_take(struct lines *lines, const char *key,
		char value[LINES_VALUE_SIZE])
{
	const char *line = lines->pos;
	size_t left = (size_t)(lines->end - line);
	const char *newline = left ? memchr(line, '\n', left) : NULL;
	size_t size = newline ? (size_t)(newline - line) : 0;
	size_t start = value_start(line, size, key);

	value[0] = '\0';
	if (lines->err)
		return;
	if (!start) {
		lines_refuse(lines, -EBADMSG, "has no line '%s:' in its place",
			     key);
		return;
	}
	if (size - start >= LINES_VALUE_SIZE ||
	    !is_printable(line + start, size - start)) {
		lines_refuse(lines, -EBADMSG, "has a malformed '%s:'", key);
		return;
	}
	memcpy(value, line + start, size - start);
	value[size - start] = '\0';
	lines->pos = newline + 1;
}

uint64_t lines_hex64(struct lines *lines, const char *key)
{
	char value[LINES_VALUE_SIZE] = "";
	uint64_t number = 0;

	lines_take(lines, key, value);
	if (strlen(value) != HEX64_DIGITS ||
	    strspn(value, "0123456789abcdef") != HEX64_DIGITS) {
		lines_refuse(lines, -EBADMSG, "has a malformed '%s:'", key);
		return 0;
	}
	for (size_t i = 0; i < HEX64_DIGITS; i++)
		number = number << 4 |
			 (uint64_t)(value[i] <= '9' ? value[i] - '0'
						    : value[i] - 'a' + 10);
	return number;
}

void lines_version(struct lines *lines, const char *key, int known)
{
	char value[LINES_VALUE_SIZE];
	char expected[LINES_VALUE_SIZE];

	lines_take(lines, key, value);
	snprintf(expected, sizeof(expected), "%d", known);
	if (lines->err || strcmp(value, expected) == 0)
		return;
	if (!value[0] || value[strspn(value, "0123456789")])
		lines_refuse(lines, -EBADMSG, "has '%s' for its version",
			     value);
	lines_refuse(lines, -ENOTSUP,
		     "says '%s: %s'; this program knows version %d", key, value,
		     known);
}

void lines_check(struct lines *lines, const void *bytes, size_t size)
{
	struct lines last = *lines;

	if (size < CHECK_LINE_SIZE) {
		lines_refuse(lines, -EBADMSG, "is cut short");
		return;
	}
	last.pos = last.end - CHECK_LINE_SIZE;
	if (lines_hex64(&last, "check") !=
	    check_of(bytes, size - CHECK_LINE_SIZE, 0))
		lines_refuse(&last, -EBADMSG,
			     "is damaged: its check does not match");
	if (!lines->err)
		lines->err = last.err;
	lines->end -= CHECK_LINE_SIZE;
}

void lines_end(struct writer *out, size_t start)
{
	if (!out->err)
		writer_printf(
			out, "check: %016" PRIx64 "\n",
			check_of(out->bytes + start, out->size - start, 0));
}

int lines_load(int dir, const char *name, char bytes[LINES_SIZE_MAX],
	       size_t *size, uid_t *owner)
{
	AUTO_CLOSE int fd =
		fd_open(dir, name, O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	int err;

	if (fd < 0)
		return errno == ELOOP ? -EFBIG : -errno;
	if (fd_stat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > LINES_SIZE_MAX)
		return -EFBIG;
	err = fd_read_at(fd, bytes, (size_t)st.st_size, 0);
	if (err)
		return err;
	*size = (size_t)st.st_size;
	*owner = st.st_uid;
	return 0;
}
