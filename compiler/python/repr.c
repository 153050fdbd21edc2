/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/repr.h"

#include <inttypes.h>
#include <string.h>

static uint8_t quote_for(struct text text)
{
	if (!text.size || !memchr(text.bytes, '\'', text.size))
		return '\'';
	return memchr(text.bytes, '"', text.size) ? '\'' : '"';
}

/* Writes the escape of an ASCII character that needs one; false if none. */
static bool put_escape(struct writer *out, uint8_t byte, uint8_t quote)
{
	if (byte == '\t')
		writer_string(out, "\\t");
	else if (byte == '\n')
		writer_string(out, "\\n");
	else if (byte == '\r')
		writer_string(out, "\\r");
	else if (byte == '\\' || byte == quote)
		writer_put(out, (uint8_t[]){ '\\', byte }, 2);
	else if (byte < 0x20 || byte >= 0x7f)
		writer_printf(out, "\\x%02x", byte);
	else
		return false;
	return true;
}

static size_t plain_run(const uint8_t *bytes, size_t size, uint8_t quote)
{
	size_t run = 0;

	while (run < size && bytes[run] >= 0x20 && bytes[run] < 0x7f &&
	       bytes[run] != '\\' && bytes[run] != quote)
		run++;
	return run;
}

static void put_wide(struct writer *out, const uint8_t *bytes, size_t size,
		     uint32_t point, enum unicode unicode)
{
	if (printable_is(point, unicode))
		writer_put(out, bytes, size);
	else if (point < 0x100)
		writer_printf(out, "\\x%02" PRIx32, point);
	else if (point < 0x10000)
		writer_printf(out, "\\u%04" PRIx32, point);
	else
		writer_printf(out, "\\U%08" PRIx32, point);
}

void repr_str(struct writer *out, struct text text, enum unicode unicode)
{
	uint8_t quote = quote_for(text);
	size_t at = 0;

	writer_u8(out, quote);
	while (at < text.size && !out->err) {
		const uint8_t *bytes = text.bytes + at;
		size_t size = plain_run(bytes, text.size - at, quote);
		uint32_t point;

		if (size) {
			writer_put(out, bytes, size);
		} else if (*bytes < 0x80) {
			put_escape(out, *bytes, quote);
			size = 1;
		} else {
			size = utf8_next(bytes, text.size - at, &point);
			if (!size)
				break;
			put_wide(out, bytes, size, point, unicode);
		}
		at += size;
	}
	writer_u8(out, quote);
}

static void repr_bytes(struct writer *out, struct text text)
{
	uint8_t quote = quote_for(text);
	size_t at = 0;

	writer_u8(out, 'b');
	writer_u8(out, quote);
	while (at < text.size && !out->err) {
		const uint8_t *bytes = text.bytes + at;
		size_t size = plain_run(bytes, text.size - at, quote);

		writer_put(out, bytes, size);
		if (!size) {
			put_escape(out, *bytes, quote);
			size = 1;
		}
		at += size;
	}
	writer_u8(out, quote);
}

static void repr_items(struct writer *out, const struct items *items,
		       enum unicode unicode)
{
	for (size_t i = 0; i < items->count && !out->err; i++) {
		if (i)
			writer_string(out, ", ");
		repr_value(out, items->at[i], unicode);
	}
}

static void repr_dict(struct writer *out, const struct items *items,
		      enum unicode unicode)
{
	writer_u8(out, '{');
	for (size_t i = 0; i < items->count && !out->err; i++) {
		if (i)
			writer_string(out, i % 2 ? ": " : ", ");
		repr_value(out, items->at[i], unicode);
	}
	writer_u8(out, '}');
}

static void repr_within(struct writer *out, const char *open,
			const struct items *items, const char *close,
			enum unicode unicode)
{
	writer_string(out, open);
	repr_items(out, items, unicode);
	writer_string(out, close);
}

static void repr_collection(struct writer *out, const struct value *value,
			    enum unicode unicode)
{
	const struct items *items = &value->items;

	switch (value->type) {
	case VALUE_TUPLE:
		repr_within(out, "(", items, items->count == 1 ? ",)" : ")",
			    unicode);
		break;
	case VALUE_LIST:
		repr_within(out, "[", items, "]", unicode);
		break;
	case VALUE_SLICE:
		repr_within(out, "slice(", items, ")", unicode);
		break;
	case VALUE_SET:
		if (items->count)
			repr_within(out, "{", items, "}", unicode);
		else
			writer_string(out, "set()");
		break;
	case VALUE_FROZENSET:
		if (items->count)
			repr_within(out, "frozenset({", items, "})", unicode);
		else
			writer_string(out, "frozenset()");
		break;
	case VALUE_DICT:
		repr_dict(out, items, unicode);
		break;
	case VALUE_ATOM:
	case VALUE_STR:
	case VALUE_BYTES:
	case VALUE_CODE:
		break;
	}
}

void repr_value(struct writer *out, const struct value *value,
		enum unicode unicode)
{
	if (out->err)
		return;
	if (value->type == VALUE_ATOM)
		writer_put(out, value->text.bytes, value->text.size);
	else if (value->type == VALUE_STR)
		repr_str(out, value->text, unicode);
	else if (value->type == VALUE_BYTES)
		repr_bytes(out, value->text);
	else if (value->type == VALUE_CODE)
		repr_code(out, value->code);
	else
		repr_collection(out, value, unicode);
}

void repr_code(struct writer *out, const struct code *code)
{
	writer_string(out, "<code object ");
	utf8_put(out, code->name);
	writer_string(out, " at 0x0, file \"");
	utf8_put(out, code->filename);
	writer_printf(out, "\", line %" PRId32 ">",
		      code->first_line ? code->first_line : -1);
}
