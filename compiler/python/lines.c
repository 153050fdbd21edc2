/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/lines.h"

#include <errno.h>

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

struct lines lines_of(const struct python *python, const struct code *code)
{
	return (struct lines){
		.python = python,
		.table = reader_over(code->lines.bytes, code->lines.size),
		.code_size = code->bytecode.size,
		.line = code->first_line,
	};
}

/* Whether a start at this offset is one, and not a line that goes on. */
static bool starts(struct lines *l, uint64_t offset, bool has_line)
{
	if (l->any && l->last.has_line == has_line &&
	    (!has_line || l->last.line == l->line))
		return false;
	l->any = true;
	l->last = (struct line_start){ offset, l->line, has_line };
	return true;
}

/* 3.8 and 3.9: pairs of increments, of the offset and then of the line. */
static bool next_in_lnotab(struct lines *l)
{
	while (reader_left(&l->table) >= 2) {
		uint8_t size = reader_u8(&l->table);
		int8_t increment = (int8_t)reader_u8(&l->table);
		bool found = size && starts(l, l->covered, true);

		l->covered += size;
		if (size && l->covered >= l->code_size) {
			l->ended = true;
			return found;
		}
		l->line += increment;
		if (found)
			return true;
	}
	l->ended = true;
	return starts(l, l->covered, true);
}

/* 3.10: pairs of a range's size and of the line's increment before it. */
static bool next_range(struct lines *l)
{
	while (reader_left(&l->table) >= 2) {
		uint64_t offset = l->covered;
		uint8_t size = reader_u8(&l->table);
		int8_t increment = (int8_t)reader_u8(&l->table);

		l->covered += size;
		if (increment == NO_LINE)
			continue;
		l->line += increment;
		if (size && l->line >= 0 && starts(l, offset, true))
			return true;
	}
	l->ended = true;
	return false;
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
static bool next_location(struct lines *l)
{
	while (reader_left(&l->table) && !l->table.err) {
		uint64_t offset = l->covered;
		uint8_t first = reader_u8(&l->table);
		unsigned kind = first >> 3 & 0xf;
		bool has_line;

		if (!(first & ENTRY_START))
			reader_fail(&l->table, -EBADMSG,
				    "an entry of the line table has no start");
		l->line += read_increment(&l->table, kind);
		if (l->table.err)
			break;
		l->covered += (uint64_t)((first & 7u) + 1) * UNIT;
		skip_columns(&l->table);
		has_line = kind != CODE_NONE && l->line != -1;
		if ((has_line || l->python->minor >= 13) &&
		    starts(l, offset, has_line))
			return true;
	}
	l->ended = true;
	return false;
}

bool lines_next(struct lines *lines, struct line_start *start)
{
	bool found;

	if (lines->ended)
		return false;
	if (lines->python->minor < 10)
		found = next_in_lnotab(lines);
	else if (lines->python->minor == 10)
		found = next_range(lines);
	else
		found = next_location(lines);
	if (found)
		*start = lines->last;
	return found;
}
