/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pickle_scan.h"

#include <errno.h>
#include <string.h>

#include "codec/arena.h"
#include "compiler/budget.h"
#include "compiler/pickle_stream.h"

enum { FIRST_MARKS = 64 };

/* The stack's depth above its topmost mark, and above those below it. */
struct depths {
	struct arena arena;
	size_t *below;
	size_t marks;
	size_t capacity;
	size_t top;
};

static int push_mark(struct depths *d)
{
	if (d->marks == d->capacity) {
		size_t larger = d->capacity ? d->capacity * 2 : FIRST_MARKS;
		size_t *below = arena_array(&d->arena, larger, sizeof(*below));

		if (!below)
			return -ENOMEM;
		if (d->marks)
			memcpy(below, d->below, d->marks * sizeof(*below));
		d->below = below;
		d->capacity = larger;
	}
	d->below[d->marks++] = d->top;
	d->top = 0;
	return 0;
}

static const char *pop_mark(struct depths *d)
{
	if (!d->marks)
		return "a mark is missing";
	d->top = d->below[--d->marks];
	return NULL;
}

/* What is wrong with it, or NULL. */
static const char *apply(struct depths *d, const struct pickle_op *op)
{
	const char *why = NULL;

	if (op->byte == PICKLE_MARK)
		return push_mark(d) ? "more memory needed than allowed" : NULL;
	if (op->byte == PICKLE_POP && !d->top)
		return pop_mark(d);
	if (op->byte == PICKLE_OBJ && !d->top)
		return "the stack is empty";
	if (op->opcode->marked)
		why = pop_mark(d);
	if (why)
		return why;
	if (d->top < op->opcode->pops)
		return "the stack is empty";
	d->top -= op->opcode->pops;
	d->top += op->opcode->pushes;
	return NULL;
}

static void scan(struct pickle_stream *stream, struct depths *d)
{
	struct reader *in = &stream->in;
	struct pickle_op op;
	const char *why;

	do {
		pickle_stream_next(stream, &op);
		if (in->err)
			return;
		why = apply(d, &op);
		if (why) {
			in->pos = in->start + op.offset;
			reader_fail(in, -EBADMSG, why);
		}
	} while (op.byte != PICKLE_STOP && !in->err);
	if (reader_left(in))
		reader_fail(in, -EBADMSG, "bytes after the end");
}

static bool is_newer(const uint8_t *bytes, size_t size)
{
	return size > 2 && bytes[0] == PICKLE_PROTO &&
	       bytes[1] > PICKLE_PROTOCOL_MAX && bytes[size - 1] == PICKLE_STOP;
}

enum pickle_state pickle_scan(const void *bytes, size_t size, const char **why,
			      size_t *where)
{
	struct pickle_stream stream = pickle_stream_over(bytes, size);
	struct depths depths = { .arena = arena_upto(budget_memory(size)) };

	scan(&stream, &depths);
	arena_free(&depths.arena);
	if (is_newer(bytes, size))
		return PICKLE_NEWER;
	if (!stream.in.err)
		return PICKLE_WHOLE;
	*why = stream.in.why;
	*where = stream.in.where;
	return PICKLE_BROKEN;
}
