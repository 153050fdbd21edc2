/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/lines.h"

#include <errno.h>

#include "codec/reader.h"
#include "compiler/memory.h"
#include "compiler/python/program.h"

enum {
	ENTRY_START =
		0x80, /* bit 7 is set in the first byte of an entry only */
	VARINT_MORE = 0x40,
	CODE_ONE_LINE = 10, /* to 12: the line advances by 0, 1, 2 */
	CODE_NO_COLUMNS = 13,
	CODE_LONG = 14,
	CODE_NONE = 15,
	NO_LINE = -128 /* 3.10: as a line's increment */
};

static void add_start(struct lines *lines, uint64_t offset, int64_t line,
		      bool has_line)
{
	lines->at[lines->count++] =
		(struct line_start){ offset, line, has_line };
}

/* As add_start(), unless the line goes on. */
static void add_change(struct lines *lines, uint64_t offset, int64_t line)
{
	if (!lines->count || lines->at[lines->count - 1].line != line)
		add_start(lines, offset, line, true);
}

/* 3.8 and 3.9: pairs of increments, of the offset and then of the line. */
static void read_lnotab(const struct code *code, struct lines *lines)
{
	const struct text *table = &code->lines;
	int64_t line = code->first_line;
	uint64_t offset = 0;

	for (size_t i = 0; i + 1 < table->size; i += 2) {
		if (table->bytes[i]) {
			add_change(lines, offset, line);
			offset += table->bytes[i];
			if (offset >= code->bytecode.size)
				return;
		}
		line += (int8_t)table->bytes[i + 1];
	}
	add_change(lines, offset, line);
}

/* 3.10: pairs of a range's size and of the line's increment before it. */
static void read_ranges(const struct code *code, struct lines *lines)
{
	const struct text *table = &code->lines;
	int64_t line = code->first_line;

	for (size_t i = 0; i + 1 < table->size; i += 2) {
		int8_t increment = (int8_t)table->bytes[i + 1];

		if (increment != NO_LINE)
			line += increment;
		if (table->bytes[i] && increment != NO_LINE && line >= 0)
			add_change(lines, lines->covered, line);
		lines->covered += table->bytes[i];
	}
}

/* The lowest six bits first. */
static int64_t read_signed_varint(struct reader *in)
{
	uint64_t value = 0;
	unsigned shift = 0;
	uint8_t byte;

	do {
		byte = reader_u8(in);
		if (byte & ENTRY_START || shift > 30)
			reader_fail(in, -EBADMSG, "a varint does not end");
		value |= (uint64_t)(byte & 0x3f) << shift;
		shift += 6;
	} while (byte & VARINT_MORE && !in->err);
	return value & 1 ? -(int64_t)(value >> 1) : (int64_t)(value >> 1);
}

static void skip_columns(struct reader *in)
{
	while (!in->err && reader_left(in) && !(*in->pos & ENTRY_START))
		reader_u8(in);
}

static int64_t read_increment(struct reader *in, unsigned kind)
{
	if (kind == CODE_NO_COLUMNS || kind == CODE_LONG)
		return read_signed_varint(in);
	if (kind >= CODE_ONE_LINE && kind < CODE_NO_COLUMNS)
		return kind - CODE_ONE_LINE;
	return 0;
}

/* 3.11 and 3.12 pass over what has no line; later ones say so. */
static void add_entry(const struct python *python, struct lines *lines,
		      int64_t line, bool has_line)
{
	const struct line_start *last =
		lines->count ? &lines->at[lines->count - 1] : NULL;

	if (python->minor < 13) {
		if (has_line)
			add_change(lines, lines->covered, line);
		return;
	}
	if (!last || last->has_line != has_line ||
	    (has_line && last->line != line))
		add_start(lines, lines->covered, line, has_line);
}

static int read_locations(const struct python *python, const struct code *code,
			  struct lines *lines)
{
	struct reader in = reader_over(code->lines.bytes, code->lines.size);
	int64_t line = code->first_line;

	while (reader_left(&in) && !in.err) {
		uint8_t first = reader_u8(&in);
		unsigned kind = first >> 3 & 0xf;

		if (!(first & ENTRY_START))
			return -EBADMSG;
		line += read_increment(&in, kind);
		add_entry(python, lines, line, kind != CODE_NONE && line != -1);
		lines->covered += (uint64_t)((first & 7u) + 1) * UNIT;
		skip_columns(&in);
	}
	return in.err;
}

int lines_read(const struct python *python, const struct code *code,
	       struct arena *arena, struct lines *lines)
{
	struct lines out = { 0 };
	int err = 0;

	/* A byte or two an entry, and one more of 3.8's and 3.9's. */
	out.at =
		memory_take(arena, code->lines.size + 1, sizeof(*out.at), &err);
	if (!out.at)
		return err;
	if (python->minor < 10)
		read_lnotab(code, &out);
	else if (python->minor == 10)
		read_ranges(code, &out);
	else
		err = read_locations(python, code, &out);
	if (err)
		return err;
	*lines = out;
	return 0;
}
