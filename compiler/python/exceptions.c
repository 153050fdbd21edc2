/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/exceptions.h"

#include <errno.h>

#include "compiler/python/program.h"

enum { MORE = 0x40, NUMBER_MAX = 1 << 30 };

/* The highest six bits first. */
static uint64_t read_varint(struct handlers *h)
{
	uint8_t byte = reader_u8(&h->table);
	uint64_t value = byte & 0x3f;

	while (byte & MORE && !h->table.err) {
		byte = reader_u8(&h->table);
		value = value << 6 | (byte & 0x3f);
		if (value <= NUMBER_MAX)
			continue;
		h->why = "a number in the exception table is too large";
		reader_fail(&h->table, -EBADMSG, h->why);
	}
	return value;
}

struct handlers handlers_of(const struct code *code)
{
	return (struct handlers){
		.table = reader_over(code->exceptions.bytes,
				     code->exceptions.size),
	};
}

bool handlers_next(struct handlers *handlers, struct handler *handler)
{
	struct handler next;
	uint64_t depth;

	if (!reader_left(&handlers->table))
		return false;
	next.start = read_varint(handlers) * UNIT;
	next.end = next.start + read_varint(handlers) * UNIT;
	next.target = read_varint(handlers) * UNIT;
	depth = read_varint(handlers);
	next.depth = depth >> 1;
	next.lasti = depth & 1;
	if (handlers->table.err)
		return false;
	*handler = next;
	return true;
}
