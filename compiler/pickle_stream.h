/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PICKLE_STREAM_H
#define TACFS_COMPILER_PICKLE_STREAM_H

/*
 * A pickle as a stream of opcodes with their arguments (Lib/pickletools.py).
 * Reading it decides nothing and executes nothing.
 */

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#include "codec/reader.h"
#include "compiler/utf8.h"

enum { PICKLE_PROTOCOL_MAX = 5 };

enum pickle_name {
#define OP(byte, name, argument, marked, pops, pushes) PICKLE_##name = (byte),
#include "compiler/pickle_ops.inc"
#undef OP
};

enum pickle_argument {
	PICKLE_NOTHING,
	PICKLE_ONE, /* little-endian numbers, by their size in bytes */
	PICKLE_TWO,
	PICKLE_FOUR,
	PICKLE_EIGHT,
	PICKLE_BYTES1, /* bytes after their size, by the size of that */
	PICKLE_BYTES4,
	PICKLE_BYTES8,
	PICKLE_TEXT1, /* the same, and UTF-8 */
	PICKLE_TEXT4,
	PICKLE_TEXT8,
	PICKLE_LINE, /* up to a newline, which is dropped */
	PICKLE_TWO_LINES
};

struct pickle_opcode {
	const char *name; /* NULL: no such opcode */
	uint8_t argument; /* enum pickle_argument */
	bool marked;	  /* takes the stack down to a mark, first */
	uint8_t pops;
	uint8_t pushes;
};

struct pickle_op {
	const struct pickle_opcode *opcode;
	uint8_t byte;
	size_t offset;
	uint64_t number;
	struct text text;
	struct text second; /* the second of two lines */
};

struct pickle_stream {
	struct reader in;
	size_t frame_end;    /* 0 outside of frames */
	bool ignores_frames; /* set it to read what is cut off */
};

struct pickle_stream pickle_stream_over(const void *bytes, size_t size);

/*
 * The next opcode. Fails as a reader does, in stream->in: -EBADMSG for an
 * unknown opcode, an argument that ends too late, frames that do not fit.
 */
void pickle_stream_next(struct pickle_stream *stream, struct pickle_op *op);

#endif
