/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/store/format.h"

#include <errno.h>
#include <fcntl.h>
#include <inttypes.h>
#include <stdarg.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>
#include <sys/stat.h>

#include "codec/chunk.h"
#include "codec/digest.h"
#include "fs/fd.h"
#include "fs/own.h"
#include "fs/random.h"

enum {
	VALUE_SIZE = 128,
	HEX64_DIGITS = 16,
	UUID_BYTES = 16,
	CHECK_LINE_SIZE = 7 + HEX64_DIGITS + 1 /* "check: ", a newline */
};

static const char hash_name[] = "xxh3-128";

/* Text that is read line by line; the first failure is told and sticks. */
struct lines {
	const char *pos;
	const char *end;
	int err;
	char *why;
	size_t why_size;
};

__attribute__((format(printf, 3, 4))) static void
refuse(struct lines *lines, int err, const char *format, ...)
{
	va_list args;

	if (lines->err)
		return;
	lines->err = err;
	va_start(args, format);
	vsnprintf(lines->why, lines->why_size, format, args);
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

/* The value of the next line, which must be "KEY:" or "KEY: VALUE". */
static void take_value(struct lines *lines, const char *key,
		       char value[VALUE_SIZE])
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
		refuse(lines, -EBADMSG, "FORMAT has no line '%s:' in its place",
		       key);
		return;
	}
	if (size - start >= VALUE_SIZE ||
	    !is_printable(line + start, size - start)) {
		refuse(lines, -EBADMSG, "FORMAT has a malformed '%s:'", key);
		return;
	}
	memcpy(value, line + start, size - start);
	value[size - start] = '\0';
	lines->pos = newline + 1;
}

static void read_version(struct lines *lines)
{
	char value[VALUE_SIZE];
	char known[VALUE_SIZE];

	take_value(lines, "tacfs-store", value);
	snprintf(known, sizeof(known), "%d", FORMAT_VERSION);
	if (lines->err || strcmp(value, known) == 0)
		return;
	if (!value[0] || value[strspn(value, "0123456789")])
		refuse(lines, -EBADMSG,
		       "FORMAT has '%s' for the version of the store", value);
	refuse(lines, -ENOTSUP,
	       "FORMAT says 'tacfs-store: %s'; this program knows version %s",
	       value, known);
}

static void read_uuid(struct lines *lines, char uuid[FORMAT_UUID_SIZE])
{
	static const char shape[] = "xxxxxxxx-xxxx-xxxx-xxxx-xxxxxxxxxxxx";
	char value[VALUE_SIZE];
	bool good;

	take_value(lines, "uuid", value);
	good = strlen(value) == sizeof(shape) - 1;
	for (size_t i = 0; good && shape[i]; i++)
		good = shape[i] == '-' ? value[i] == '-'
				       : value[i] && strchr("0123456789abcdef",
							    value[i]);
	if (good)
		memcpy(uuid, value, FORMAT_UUID_SIZE);
	else
		refuse(lines, -EBADMSG, "FORMAT has a malformed 'uuid:'");
}

static uint64_t read_hex64(struct lines *lines, const char *key)
{
	char value[VALUE_SIZE] = "";
	uint64_t number = 0;

	take_value(lines, key, value);
	if (strlen(value) != HEX64_DIGITS ||
	    strspn(value, "0123456789abcdef") != HEX64_DIGITS) {
		refuse(lines, -EBADMSG, "FORMAT has a malformed '%s:'", key);
		return 0;
	}
	for (size_t i = 0; i < HEX64_DIGITS; i++)
		number = number << 4 |
			 (uint64_t)(value[i] <= '9' ? value[i] - '0'
						    : value[i] - 'a' + 10);
	return number;
}

static void read_known(struct lines *lines, const char *key, const char *known)
{
	char value[VALUE_SIZE];

	take_value(lines, key, value);
	if (strcmp(value, known) != 0)
		refuse(lines, -ENOTSUP,
		       "FORMAT says '%s: %s'; this program knows '%s'", key,
		       value, known);
}

/* There are no features yet, so whatever is named here is unknown. */
static void read_features(struct lines *lines)
{
	char value[VALUE_SIZE];

	take_value(lines, "features", value);
	if (value[0])
		refuse(lines, -ENOTSUP,
		       "FORMAT says 'features: %s', which this program does "
		       "not know",
		       value);
}

static void chunker_name(char name[VALUE_SIZE])
{
	snprintf(name, VALUE_SIZE, "gear %d %d %d", CHUNK_MIN, CHUNK_AVERAGE,
		 CHUNK_MAX);
}

/* The last line is a checksum of all before it. */
static void read_check(struct lines *lines, const void *bytes, size_t size)
{
	struct lines last = *lines;

	if (size < CHECK_LINE_SIZE) {
		refuse(lines, -EBADMSG, "FORMAT is cut short");
		return;
	}
	last.pos = last.end - CHECK_LINE_SIZE;
	if (read_hex64(&last, "check") !=
	    check_of(bytes, size - CHECK_LINE_SIZE, 0))
		refuse(&last, -EBADMSG,
		       "FORMAT is damaged: its check does not match");
	if (!lines->err)
		lines->err = last.err;
	lines->end -= CHECK_LINE_SIZE;
}

int format_parse(const void *bytes, size_t size, struct format *out, char *why,
		 size_t why_size)
{
	struct lines lines = { .pos = bytes,
			       .end = (const char *)bytes + size,
			       .why = why,
			       .why_size = why_size };
	struct format format = { .seed = 0 };
	char chunker[VALUE_SIZE];

	if (size > FORMAT_SIZE_MAX)
		refuse(&lines, -EBADMSG, "FORMAT is too long");
	read_version(&lines);
	if (!lines.err)
		read_check(&lines, bytes, size);
	if (lines.err)
		return lines.err;
	read_uuid(&lines, format.uuid);
	format.seed = read_hex64(&lines, "seed");
	read_known(&lines, "hash", hash_name);
	chunker_name(chunker);
	read_known(&lines, "chunker", chunker);
	read_features(&lines);
	if (lines.pos != lines.end)
		refuse(&lines, -EBADMSG, "FORMAT has lines too many");
	if (!lines.err)
		*out = format;
	return lines.err;
}

void format_write(const struct format *format, struct writer *out)
{
	size_t start = out->size;
	char chunker[VALUE_SIZE];

	chunker_name(chunker);
	writer_printf(out, "tacfs-store: %d\n", FORMAT_VERSION);
	writer_printf(out, "uuid: %s\n", format->uuid);
	writer_printf(out, "seed: %016" PRIx64 "\n", format->seed);
	writer_printf(out, "hash: %s\n", hash_name);
	writer_printf(out, "chunker: %s\n", chunker);
	writer_string(out, "features:\n");
	if (!out->err)
		writer_printf(
			out, "check: %016" PRIx64 "\n",
			check_of(out->bytes + start, out->size - start, 0));
}

/* -EFBIG for what cannot be FORMAT by its kind or size. */
static int read_text(int root, char bytes[FORMAT_SIZE_MAX], size_t *size)
{
	AUTO_CLOSE int fd =
		fd_open(root, "FORMAT", O_RDONLY | O_NOFOLLOW | O_NONBLOCK, 0);
	struct stat st;
	int err;

	if (fd < 0)
		return -errno;
	if (fstat(fd, &st) < 0)
		return -errno;
	if (!S_ISREG(st.st_mode) || st.st_size > FORMAT_SIZE_MAX)
		return -EFBIG;
	err = fd_read_at(fd, bytes, (size_t)st.st_size, 0);
	if (err)
		return err;
	*size = (size_t)st.st_size;
	return 0;
}

int format_load(int root, struct format *out, char *why, size_t why_size)
{
	char bytes[FORMAT_SIZE_MAX];
	size_t size = 0;
	int err = read_text(root, bytes, &size);

	if (err == -EFBIG) {
		snprintf(why, why_size, "FORMAT is not a small regular file");
		return -EBADMSG;
	}
	if (err) {
		snprintf(why, why_size, "cannot read FORMAT: %s",
			 strerror(-err));
		return err;
	}
	return format_parse(bytes, size, out, why, why_size);
}

/* RFC 4122: a random UUID. */
static void uuid_text(const uint8_t random[UUID_BYTES],
		      char text[FORMAT_UUID_SIZE])
{
	size_t at = 0;

	for (size_t i = 0; i < UUID_BYTES; i++) {
		unsigned byte = random[i];

		if (i == 6)
			byte = (byte & 0x0f) | 0x40;
		if (i == 8)
			byte = (byte & 0x3f) | 0x80;
		if (i == 4 || i == 6 || i == 8 || i == 10)
			text[at++] = '-';
		at += (size_t)snprintf(text + at, FORMAT_UUID_SIZE - at, "%02x",
				       byte);
	}
}

static int format_new(struct format *format)
{
	uint8_t random[UUID_BYTES] = { 0 };
	int err = random_bytes(random, sizeof(random));

	if (!err)
		err = random_bytes(&format->seed, sizeof(format->seed));
	if (!err)
		uuid_text(random, format->uuid);
	return err;
}

int format_make(int root, int tmp, mode_t mode)
{
	struct writer text = writer_upto(FORMAT_SIZE_MAX);
	struct fd_draft draft;
	struct format format;
	int err = format_new(&format);

	if (err)
		return err;
	err = fd_draft_open(tmp, mode, &draft);
	if (err)
		return err;
	format_write(&format, &text);
	err = text.err;
	if (!err)
		err = fd_write_at(draft.fd, text.bytes, text.size, 0);
	if (!err)
		err = fd_sync(draft.fd);
	if (!err)
		err = fd_draft_link(&draft, root, "FORMAT");
	fd_draft_close(&draft);
	writer_free(&text);
	return err == -EEXIST ? 0 : err;
}
