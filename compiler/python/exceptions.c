/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/exceptions.h"

#include <errno.h>

#include "codec/reader.h"
#include "compiler/memory.h"
#include "compiler/python/program.h"

enum { MORE = 0x40, ENTRY_SIZE_MIN = 4, NUMBER_MAX = 1 << 30 };

/* The highest six bits first. */
static uint64_t read_varint(struct reader *in)
{
	uint8_t byte = reader_u8(in);
	uint64_t value = byte & 0x3f;

	while (byte & MORE && !in->err) {
		byte = reader_u8(in);
		value = value << 6 | (byte & 0x3f);
		if (value > NUMBER_MAX)
			reader_fail(in, -E2BIG, "a number is too large");
	}
	return value;
}

static struct handler read_handler(struct reader *in)
{
	struct handler handler;
	uint64_t depth;

	handler.start = read_varint(in) * UNIT;
	handler.end = handler.start + read_varint(in) * UNIT;
	handler.target = read_varint(in) * UNIT;
	depth = read_varint(in);
	handler.depth = depth >> 1;
	handler.lasti = depth & 1;
	return handler;
}

int handlers_read(const struct code *code, struct arena *arena,
		  struct handlers *handlers)
{
	struct reader in =
		reader_over(code->exceptions.bytes, code->exceptions.size);
	struct handlers out = { 0 };
	int err = 0;

	out.at = memory_take(arena, code->exceptions.size / ENTRY_SIZE_MIN,
			     sizeof(*out.at), &err);
	if (!out.at)
		return err;
	while (reader_left(&in)) {
		struct handler handler = read_handler(&in);

		if (in.err == -E2BIG)
			return -EBADMSG;
		if (in.err)
			break;
		out.at[out.count++] = handler;
	}
	*handlers = out;
	return 0;
}
