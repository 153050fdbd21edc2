/* SPDX-License-Identifier: Apache-2.0 */
#include "codec/writer.h"

#include <errno.h>
#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "codec/le.h"

enum { FIRST_CAPACITY = 256 };

struct writer writer_upto(size_t limit)
{
	return (struct writer){ .limit = limit };
}

void writer_free(struct writer *w)
{
	free(w->bytes);
	*w = (struct writer){ .limit = w->limit };
}

uint8_t *writer_take(struct writer *w, size_t *size)
{
	uint8_t *bytes = w->bytes;

	*size = w->size;
	*w = (struct writer){ .limit = w->limit };
	return bytes;
}

void writer_cut(struct writer *w, size_t size)
{
	w->size = size;
	if (w->err == -EFBIG)
		w->err = 0;
}

static int grow(struct writer *w, size_t needed)
{
	size_t capacity = w->capacity ? w->capacity : FIRST_CAPACITY;
	uint8_t *bytes;

	while (capacity < needed)
		capacity = capacity > w->limit / 2 ? w->limit : capacity * 2;
	bytes = realloc(w->bytes, capacity);
	if (!bytes)
		return -ENOMEM;
	w->bytes = bytes;
	w->capacity = capacity;
	return 0;
}

/* Room for `size` more bytes, now counted as written; NULL on failure. */
static uint8_t *extend(struct writer *w, size_t size)
{
	uint8_t *at;

	if (w->err || !size)
		return NULL;
	if (size > w->limit - w->size) {
		w->err = -EFBIG;
		return NULL;
	}
	if (w->size + size > w->capacity)
		w->err = grow(w, w->size + size);
	if (w->err)
		return NULL;
	at = w->bytes + w->size;
	w->size += size;
	return at;
}

void writer_put(struct writer *w, const void *bytes, size_t size)
{
	uint8_t *at = extend(w, size);

	if (at)
		memcpy(at, bytes, size);
}

void writer_fill(struct writer *w, uint8_t byte, size_t count)
{
	uint8_t *at = extend(w, count);

	if (at)
		memset(at, byte, count);
}

void writer_u8(struct writer *w, uint8_t v)
{
	writer_put(w, &v, sizeof(v));
}

void writer_le16(struct writer *w, uint16_t v)
{
	le16 le = le16_of(v);

	writer_put(w, &le, sizeof(le));
}

void writer_le32(struct writer *w, uint32_t v)
{
	le32 le = le32_of(v);

	writer_put(w, &le, sizeof(le));
}

void writer_le64(struct writer *w, uint64_t v)
{
	le64 le = le64_of(v);

	writer_put(w, &le, sizeof(le));
}

void writer_string(struct writer *w, const char *text)
{
	writer_put(w, text, strlen(text));
}

void writer_printf(struct writer *w, const char *format, ...)
{
	char text[512];
	va_list args;
	int size;

	va_start(args, format);
	size = vsnprintf(text, sizeof(text), format, args);
	va_end(args);
	if (size < 0 || (size_t)size >= sizeof(text))
		w->err = w->err ? w->err : -EFBIG;
	else
		writer_put(w, text, (size_t)size);
}
