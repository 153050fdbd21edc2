/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pickle_stream.h"

#include <errno.h>
#include <string.h>

#define OP(byte, word, kind, to_mark, takes, gives)                            \
	[(byte)] = { .name = #word,                                            \
		     .argument = PICKLE_##kind,                                \
		     .marked = (to_mark),                                      \
		     .pops = (takes),                                          \
		     .pushes = (gives) },

static const struct pickle_opcode opcodes[256] = {
#include "compiler/pickle_ops.inc"
};

struct pickle_stream pickle_stream_over(const void *bytes, size_t size)
{
	return (struct pickle_stream){ .in = reader_over(bytes, size) };
}

static struct text take(struct reader *in, uint64_t size)
{
	struct text text = { .size = (size_t)size };

	text.bytes = reader_take(in, text.size);
	return in->err ? (struct text){ NULL, 0 } : text;
}

static struct text take_utf8(struct reader *in, uint64_t size)
{
	struct text text = take(in, size);

	if (!utf8_valid(text.bytes, text.size))
		reader_fail(in, -EBADMSG, "a string is not UTF-8");
	return text;
}

static struct text take_line(struct reader *in)
{
	size_t left = reader_left(in);
	const uint8_t *end = left ? memchr(in->pos, '\n', left) : NULL;
	struct text line;

	if (!end) {
		reader_fail(in, -EBADMSG, "the input ends within a line");
		return (struct text){ NULL, 0 };
	}
	line = take(in, (size_t)(end - in->pos));
	reader_u8(in);
	return line;
}

static void read_argument(struct reader *in, struct pickle_op *op)
{
	switch ((enum pickle_argument)op->opcode->argument) {
	case PICKLE_NOTHING:
		break;
	case PICKLE_ONE:
		op->number = reader_u8(in);
		break;
	case PICKLE_TWO:
		op->number = reader_le16(in);
		break;
	case PICKLE_FOUR:
		op->number = reader_le32(in);
		break;
	case PICKLE_EIGHT:
		op->number = reader_le64(in);
		break;
	case PICKLE_BYTES1:
		op->text = take(in, reader_u8(in));
		break;
	case PICKLE_BYTES4:
		op->text = take(in, reader_le32(in));
		break;
	case PICKLE_BYTES8:
		op->text = take(in, reader_le64(in));
		break;
	case PICKLE_TEXT1:
		op->text = take_utf8(in, reader_u8(in));
		break;
	case PICKLE_TEXT4:
		op->text = take_utf8(in, reader_le32(in));
		break;
	case PICKLE_TEXT8:
		op->text = take_utf8(in, reader_le64(in));
		break;
	case PICKLE_LINE:
		op->text = take_line(in);
		break;
	case PICKLE_TWO_LINES:
		op->text = take_line(in);
		op->second = take_line(in);
		break;
	}
}

static void enter_frame(struct pickle_stream *stream, uint64_t size)
{
	struct reader *in = &stream->in;

	if (stream->frame_end)
		reader_fail(in, -EBADMSG, "a frame within a frame");
	else if (size > reader_left(in))
		reader_fail(in, -EBADMSG, "a frame is longer than the input");
	else
		stream->frame_end = reader_offset(in) + (size_t)size;
}

static void leave_frame(struct pickle_stream *stream)
{
	size_t offset = reader_offset(&stream->in);

	if (stream->frame_end && offset > stream->frame_end)
		reader_fail(&stream->in, -EBADMSG,
			    "an argument goes beyond its frame");
	if (offset >= stream->frame_end)
		stream->frame_end = 0;
}

void pickle_stream_next(struct pickle_stream *stream, struct pickle_op *op)
{
	struct reader *in = &stream->in;

	*op = (struct pickle_op){ .offset = reader_offset(in) };
	op->byte = reader_u8(in);
	op->opcode = &opcodes[op->byte];
	if (!in->err && !op->opcode->name) {
		in->pos--;
		reader_fail(in, -EBADMSG, "an unknown opcode");
	}
	if (in->err)
		return;
	read_argument(in, op);
	if (op->byte == PICKLE_FRAME && !in->err && !stream->ignores_frames)
		enter_frame(stream, op->number);
	leave_frame(stream);
}
