/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/utf8.h"

#include <string.h>

bool text_equals(struct text text, const char *other)
{
	return text.size == strlen(other) &&
	       memcmp(text.bytes, other, text.size) == 0;
}

static bool is_tail(uint8_t byte)
{
	return (byte & 0xc0) == 0x80;
}

static size_t sequence_size(uint8_t first)
{
	if (first < 0x80)
		return 1;
	if (first >= 0xc2 && first < 0xe0)
		return 2;
	if (first >= 0xe0 && first < 0xf0)
		return 3;
	if (first >= 0xf0 && first < 0xf5)
		return 4;
	return 0;
}

size_t utf8_next(const uint8_t *bytes, size_t size, uint32_t *point)
{
	static const uint32_t least[] = { 0, 0, 0x80, 0x800, 0x10000 };
	size_t length = size ? sequence_size(bytes[0]) : 0;
	uint32_t value;

	if (!length || length > size)
		return 0;
	value = length == 1 ? bytes[0] : bytes[0] & (0x7fu >> length);
	for (size_t i = 1; i < length; i++) {
		if (!is_tail(bytes[i]))
			return 0;
		value = value << 6 | (bytes[i] & 0x3f);
	}
	if (value < least[length] || value > 0x10ffff)
		return 0;
	*point = value;
	return length;
}

/* How many bytes from `at` on are ASCII for sure: a multiple of eight. */
static size_t ascii_run(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	uint64_t eight;

	for (; size - at >= sizeof(eight); at += sizeof(eight)) {
		memcpy(&eight, bytes + at, sizeof(eight));
		if (eight & UINT64_C(0x8080808080808080))
			break;
	}
	return at;
}

bool utf8_valid(const uint8_t *bytes, size_t size)
{
	size_t at = 0;
	uint32_t point;

	while (at < size) {
		size_t length = ascii_run(bytes + at, size - at);

		if (!length)
			length = utf8_next(bytes + at, size - at, &point);
		if (!length)
			return false;
		at += length;
	}
	return true;
}

void utf8_put(struct writer *out, struct text text)
{
	const uint8_t *from = text.bytes;
	const uint8_t *end = text.size ? from + text.size : from;
	const uint8_t *at = from;

	while (at < end && (at = memchr(at, 0xed, (size_t)(end - at)))) {
		if (end - at < 3 || at[1] < 0xa0) {
			at++;
			continue;
		}
		writer_put(out, from, (size_t)(at - from));
		writer_string(out, "\xef\xbf\xbd");
		at += 3;
		from = at;
	}
	writer_put(out, from, (size_t)(end - from));
}
