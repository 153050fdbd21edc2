/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/fuzz/code_recipe.h"

#include <stdbool.h>
#include <string.h>

#include "compiler/python/python.h"

enum { OLDEST_NEW = 3 /* 3.11 */, OLDEST_SLICE = 6 /* 3.14 */ };
enum { DEPTH_MAX = 12, COMPLETE_MAX = 64 };
enum { FLAG_REF = 0x80, KIND_LOCAL = 0x20, KIND_CELL = 0x40, KIND_FREE = 0x80 };

/* A constant's first byte: four bits of type, three of detail, FLAG_REF. */
enum { TYPE_MASK = 0xf, DETAIL_SHIFT = 4, DETAIL_MASK = 7 };

struct part {
	const uint8_t *bytes;
	size_t size;
};

struct recipe {
	uint8_t arguments, keyword_only;
	uint32_t flags, first_line;
	uint8_t consts, names, locals, cells, frees, first_name;
	struct part bytecode, lines, handlers, kinds;
	uint32_t bytecode_number; /* of the reference to it */
	bool is_written;	  /* so there is one */
};

struct maker {
	struct reader *in;
	struct writer *out;
	size_t python;
	unsigned depth;
	uint32_t numbers; /* given to what FLAG_REF marks */
	uint32_t complete[COMPLETE_MAX];
	size_t complete_count;
};

/* What a constant's type is written by. */
struct constant {
	struct recipe *around;
	uint8_t detail;
	uint8_t flag; /* FLAG_REF or 0 */
};

static struct part take_upto(struct reader *in, size_t size)
{
	size_t left = reader_left(in);
	struct part part = { NULL, size < left ? size : left };

	part.bytes = reader_take(in, part.size);
	if (!part.bytes)
		part.size = 0;
	return part;
}

static struct part take_sized(struct reader *in)
{
	return take_upto(in, reader_le16(in));
}

static struct recipe read_recipe(struct reader *in)
{
	struct recipe r = { 0 };

	r.arguments = reader_u8(in);
	r.keyword_only = reader_u8(in);
	r.flags = reader_le32(in);
	r.first_line = reader_le32(in);
	r.consts = reader_u8(in);
	r.names = reader_u8(in);
	r.locals = reader_u8(in);
	r.cells = reader_u8(in);
	r.frees = reader_u8(in);
	r.first_name = reader_u8(in);
	r.bytecode = take_sized(in);
	r.bytecode.size &= ~(size_t)1; /* whole instructions */
	r.lines = take_sized(in);
	r.handlers = take_sized(in);
	r.kinds = take_upto(in, (size_t)r.locals + r.cells + r.frees);
	return r;
}

static void put_size(struct maker *m, size_t size)
{
	writer_le32(m->out, (uint32_t)size);
}

static void put_part(struct maker *m, char type, struct part part)
{
	writer_u8(m->out, (uint8_t)type);
	put_size(m, part.size);
	writer_put(m->out, part.bytes, part.size);
}

static void put_name(struct maker *m, size_t index)
{
	static const char *const odd[] = { "",	  "x",	      "__compiled_fn_1",
					   "a'b", "\xc3\xa9", "\xed\xa0\x80",
					   "|",	  "a\nb",     "<lambda>",
					   "self" };
	size_t count = sizeof(odd) / sizeof(odd[0]);
	const char *name = odd[index % count];

	put_part(m, 't', (struct part){ (const uint8_t *)name, strlen(name) });
}

static void put_names(struct maker *m, size_t first, size_t count)
{
	writer_u8(m->out, '(');
	put_size(m, count);
	for (size_t i = 0; i < count; i++)
		put_name(m, first + i);
}

static void put_kinds(struct maker *m, const struct recipe *r)
{
	size_t count = (size_t)r->locals + r->cells + r->frees;

	writer_u8(m->out, 's');
	put_size(m, count);
	for (size_t i = 0; i < count; i++) {
		uint8_t kind = KIND_FREE;

		if (i < r->locals)
			kind = KIND_LOCAL;
		else if (i < (size_t)r->locals + r->cells)
			kind = KIND_CELL;
		if (i < r->kinds.size)
			kind ^= r->kinds.bytes[i];
		writer_u8(m->out, kind);
	}
}

static void put_locals(struct maker *m, const struct recipe *r)
{
	size_t first = r->first_name;

	if (m->python >= OLDEST_NEW) {
		put_names(m, first, (size_t)r->locals + r->cells + r->frees);
		put_kinds(m, r);
		return;
	}
	put_names(m, first, r->locals);
	put_names(m, first, r->frees);
	put_names(m, first, r->cells);
}

/* Code objects that share a recipe share its bytecode, as a reference. */
static void put_bytecode(struct maker *m, struct recipe *r)
{
	if (r->is_written) {
		writer_u8(m->out, 'r');
		writer_le32(m->out, r->bytecode_number);
		return;
	}
	r->bytecode_number = m->numbers++;
	r->is_written = true;
	put_part(m, (char)('s' | FLAG_REF), r->bytecode);
}

static void put_constant(struct maker *m, struct recipe *around);

static void put_constants(struct maker *m, char type, size_t count,
			  struct recipe *around)
{
	writer_u8(m->out, (uint8_t)type);
	put_size(m, count);
	for (size_t i = 0; i < count; i++)
		put_constant(m, around);
}

static void put_head(struct maker *m, const struct recipe *r)
{
	writer_le32(m->out, r->arguments);
	writer_le32(m->out, 0); /* positional only */
	writer_le32(m->out, r->keyword_only);
	if (m->python < OLDEST_NEW)
		writer_le32(m->out, r->locals);
	writer_le32(m->out, 1); /* stack */
	writer_le32(m->out, r->flags);
}

static void put_code(struct maker *m, struct recipe *r, uint8_t flag)
{
	writer_u8(m->out, 'c' | flag);
	put_head(m, r);
	put_bytecode(m, r);
	put_constants(m, '(', r->consts, r);
	put_names(m, r->first_name, r->names);
	put_locals(m, r);
	put_name(m, r->first_name + 1U); /* file */
	put_name(m, r->first_name);
	if (m->python >= OLDEST_NEW)
		put_name(m, r->first_name); /* qualified */
	writer_le32(m->out, r->first_line);
	put_part(m, 's', r->lines);
	if (m->python >= OLDEST_NEW)
		put_part(m, 's', r->handlers);
}

static void constant_code(struct maker *m, const struct constant *c)
{
	struct recipe own;

	if (c->detail & 1) {
		put_code(m, c->around, c->flag);
		return;
	}
	own = read_recipe(m->in);
	put_code(m, &own, c->flag);
}

/* An atom can be flagged, but is not numbered. */
static void constant_atom(struct maker *m, const struct constant *c)
{
	writer_u8(m->out, (uint8_t) "NTFS.TFN"[c->detail] | c->flag);
}

static void constant_int(struct maker *m, const struct constant *c)
{
	writer_u8(m->out, 'i' | c->flag);
	writer_le32(m->out, reader_le32(m->in));
}

/* Up to 1020 digits of 15 bits: more than Python converts to decimal. */
static void constant_long(struct maker *m, const struct constant *c)
{
	uint32_t count = (c->detail & 2 ? 4U : 1U) * reader_u8(m->in);

	writer_u8(m->out, 'l' | c->flag);
	writer_le32(m->out, c->detail & 1 ? 0U - count : count);
	for (uint32_t i = 0; i < count; i++) {
		uint16_t digit = reader_le16(m->in) & 0x7fff;

		if (i + 1 == count && !digit)
			digit = 1;
		writer_le16(m->out, digit);
	}
}

static void constant_float(struct maker *m, const struct constant *c)
{
	writer_u8(m->out, 'g' | c->flag);
	writer_le64(m->out, reader_le64(m->in));
}

static void constant_complex(struct maker *m, const struct constant *c)
{
	writer_u8(m->out, 'y' | c->flag);
	writer_le64(m->out, reader_le64(m->in));
	writer_le64(m->out, reader_le64(m->in));
}

static void constant_ascii(struct maker *m, const struct constant *c)
{
	struct part text = take_upto(m->in, reader_u8(m->in));

	writer_u8(m->out, (c->detail & 1 ? 'Z' : 'z') | c->flag);
	writer_u8(m->out, (uint8_t)text.size);
	for (size_t i = 0; i < text.size; i++)
		writer_u8(m->out, text.bytes[i] & 0x7f);
}

static void put_utf8(struct writer *out, uint32_t point)
{
	if (point < 0x80) {
		writer_u8(out, (uint8_t)point);
		return;
	}
	if (point < 0x800) {
		writer_u8(out, (uint8_t)(0xc0 | point >> 6));
	} else {
		if (point < 0x10000) {
			writer_u8(out, (uint8_t)(0xe0 | point >> 12));
		} else {
			writer_u8(out, (uint8_t)(0xf0 | point >> 18));
			writer_u8(out, 0x80 | (point >> 12 & 0x3f));
		}
		writer_u8(out, 0x80 | (point >> 6 & 0x3f));
	}
	writer_u8(out, 0x80 | (point & 0x3f));
}

/* All of one of Unicode's planes: 0 to 6, or 16. */
static void constant_unicode(struct maker *m, const struct constant *c)
{
	struct writer text = writer_upto(1 << 12);
	uint32_t plane = c->detail == DETAIL_MASK ? 16 : c->detail;
	size_t count = reader_u8(m->in);

	for (size_t i = 0; i < count; i++)
		put_utf8(&text, plane << 16 | reader_le16(m->in));
	put_part(m, (char)('u' | c->flag),
		 (struct part){ text.bytes, text.size });
	writer_free(&text);
}

static void constant_bytes(struct maker *m, const struct constant *c)
{
	put_part(m, (char)('s' | c->flag), take_upto(m->in, reader_u8(m->in)));
}

static void constant_tuple(struct maker *m, const struct constant *c)
{
	put_constants(m, (char)('(' | c->flag), c->detail, c->around);
}

static void constant_frozenset(struct maker *m, const struct constant *c)
{
	put_constants(m, (char)('>' | c->flag), c->detail, c->around);
}

static void constant_long_frozenset(struct maker *m, const struct constant *c)
{
	put_constants(m, (char)('>' | c->flag), reader_u8(m->in), c->around);
}

static void constant_other_sequence(struct maker *m, const struct constant *c)
{
	put_constants(m, (char)((c->detail & 1 ? '[' : '<') | c->flag),
		      c->detail >> 1, c->around);
}

static void constant_dict(struct maker *m, const struct constant *c)
{
	writer_u8(m->out, '{' | c->flag);
	for (size_t i = 0; i < 2 * (size_t)c->detail; i++)
		put_constant(m, c->around);
	writer_u8(m->out, '0');
}

static void constant_slice(struct maker *m, const struct constant *c)
{
	if (m->python < OLDEST_SLICE) {
		put_constants(m, (char)('(' | c->flag), 3, c->around);
		return;
	}
	writer_u8(m->out, ':' | c->flag);
	for (size_t i = 0; i < 3; i++)
		put_constant(m, c->around);
}

/* To something that is whole: so nothing contains itself. */
static void constant_reference(struct maker *m, const struct constant *c)
{
	uint8_t which = reader_u8(m->in);

	(void)c;
	if (!m->complete_count) {
		writer_u8(m->out, 'N');
		return;
	}
	writer_u8(m->out, 'r');
	writer_le32(m->out, m->complete[which % m->complete_count]);
}

/* The order is part of the format of the corpus. */
static void (*const constants[])(struct maker *, const struct constant *) = {
	constant_atom,		 constant_int,
	constant_long,		 constant_float,
	constant_complex,	 constant_ascii,
	constant_unicode,	 constant_bytes,
	constant_tuple,		 constant_frozenset,
	constant_long_frozenset, constant_other_sequence,
	constant_dict,		 constant_slice,
	constant_code,		 constant_reference
};

static void complete(struct maker *m, uint32_t number)
{
	if (m->complete_count < COMPLETE_MAX)
		m->complete[m->complete_count++] = number;
}

static void put_constant(struct maker *m, struct recipe *around)
{
	uint8_t byte = reader_u8(m->in);
	void (*put)(struct maker *, const struct constant *) =
		constants[byte & TYPE_MASK];
	struct constant c = { around, byte >> DETAIL_SHIFT & DETAIL_MASK,
			      byte & FLAG_REF };
	bool numbered =
		c.flag && put != constant_atom && put != constant_reference;
	uint32_t number = m->numbers;

	if (m->out->err || m->depth == DEPTH_MAX) {
		writer_u8(m->out, 'N');
		return;
	}
	m->numbers += numbered;
	m->depth++;
	put(m, &c);
	m->depth--;
	if (numbered)
		complete(m, number);
}

size_t code_recipe_write(struct reader *recipe, struct writer *out)
{
	struct maker m = { .in = recipe,
			   .out = out,
			   .python = reader_u8(recipe) % PYTHON_COUNT };
	struct recipe outermost = read_recipe(recipe);

	put_code(&m, &outermost, 0);
	return m.python;
}
