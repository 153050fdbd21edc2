/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/marshal.h"

#include <errno.h>
#include <string.h>

#include "compiler/memory.h"
#include "compiler/python/number.h"

enum { FLAG_REF = 0x80 };

/* One reading. A reference to a value that is still being read is NULL. */
struct loader {
	struct reader *in;
	struct arena *arena;
	enum code_layout layout;
	struct marshal *out;
	struct code **last; /* where the next code object is linked */
	const struct value **references;
	size_t reference_count;
	size_t reference_capacity;
	unsigned depth;
};

static const struct value *read_value(struct loader *l);

#define ATOM(name, letters, since, number)                                     \
	static const struct value name = {                                     \
		.type = VALUE_ATOM,                                            \
		.hash_since = (since),                                         \
		.hash = (number),                                              \
		.text = { (const uint8_t *)(letters), sizeof(letters) - 1 }    \
	}

ATOM(none, "None", 12, 0xfca86420); /* before 3.12 it hashes by address */
ATOM(yes, "True", HASH_ALWAYS, 1);
ATOM(no, "False", HASH_ALWAYS, 0);
ATOM(ellipsis, "Ellipsis", HASH_NEVER, 0);
ATOM(stop_iteration, "<class 'StopIteration'>", HASH_NEVER, 0);

static void *allocate(struct loader *l, size_t count, size_t size)
{
	int err = 0;
	void *memory = NULL;

	if (!l->in->err)
		memory = memory_take(l->arena, count, size, &err);
	if (err)
		reader_fail(l->in, err, memory_why(err));
	return memory;
}

static struct value *new_value(struct loader *l, enum value_type type)
{
	struct value *value = allocate(l, 1, sizeof(*value));

	if (value) {
		value->type = type;
		value->hash_since = HASH_NEVER;
	}
	return value;
}

/* What number_of_float() and such have returned. */
static const struct value *checked(struct loader *l, const struct value *value,
				   int err)
{
	if (err)
		reader_fail(l->in, err, memory_why(err));
	return l->in->err ? NULL : value;
}

/* An i32 size of what follows, never more than that; 0 on failure. */
static size_t read_size(struct loader *l)
{
	return reader_count(l->in, 1);
}

static const struct value *new_text(struct loader *l, enum value_type type,
				    const uint8_t *bytes, size_t size)
{
	struct value *value = new_value(l, type);

	if (value)
		value->text = (struct text){ bytes, size };
	return value;
}

static const struct value *read_bytes(struct loader *l)
{
	size_t size = read_size(l);

	return new_text(l, VALUE_BYTES, reader_take(l->in, size), size);
}

static const struct value *read_utf8(struct loader *l)
{
	size_t size = read_size(l);
	const uint8_t *bytes = reader_take(l->in, size);

	if (bytes && !utf8_valid(bytes, size))
		reader_fail(l->in, -EBADMSG, "a string is not UTF-8");
	return new_text(l, VALUE_STR, bytes, size);
}

/* The "ASCII" types: Latin-1 in truth, though dumps() writes only ASCII. */
static const struct value *read_latin1(struct loader *l, size_t size)
{
	const uint8_t *bytes = reader_take(l->in, size);
	size_t wide = 0, at = 0;
	uint8_t *utf8;

	for (size_t i = 0; bytes && i < size; i++)
		wide += bytes[i] >= 0x80;
	if (!wide)
		return new_text(l, VALUE_STR, bytes, size);
	utf8 = allocate(l, size + wide, 1);
	for (size_t i = 0; utf8 && i < size; i++) {
		if (bytes[i] >= 0x80)
			utf8[at++] = (uint8_t)(0xc0 | bytes[i] >> 6);
		utf8[at++] = bytes[i] < 0x80
				     ? bytes[i]
				     : (uint8_t)(0x80 | (bytes[i] & 0x3f));
	}
	return new_text(l, VALUE_STR, utf8, at);
}

static double read_double(struct loader *l)
{
	uint64_t bits = reader_le64(l->in);
	double number;

	memcpy(&number, &bits, sizeof(number));
	return number;
}

static const struct value *read_float(struct loader *l)
{
	int err = 0;
	const struct value *value =
		number_of_float(l->arena, read_double(l), &err);

	return checked(l, value, err);
}

static const struct value *read_complex(struct loader *l)
{
	double real = read_double(l);
	int err = 0;
	const struct value *value =
		number_of_complex(l->arena, real, read_double(l), &err);

	return checked(l, value, err);
}

static const struct value *read_int(struct loader *l)
{
	int32_t number = (int32_t)reader_le32(l->in);
	int err = 0;
	const struct value *value = number_of_int32(l->arena, number, &err);

	return checked(l, value, err);
}

static const struct value *read_long(struct loader *l)
{
	int32_t number = (int32_t)reader_le32(l->in);
	size_t count = number < 0 ? -(size_t)number : (size_t)number;
	const uint8_t *digits = reader_take(l->in, 2 * count);
	const struct value *value;
	int err = 0;

	if (!digits)
		return NULL;
	for (size_t i = 0; i < count; i++)
		if (digits[2 * i + 1] & 0x80)
			reader_fail(l->in, -EBADMSG, "an int's digit is bad");
	if (count && !digits[2 * count - 1] && !digits[2 * count - 2])
		reader_fail(l->in, -EBADMSG, "an int starts with a zero");
	value = number_of_digits(l->arena, digits, count, number < 0, &err);
	return checked(l, value, err);
}

static void read_items(struct loader *l, size_t count, struct items *items)
{
	if (count)
		items->at = allocate(l, count, ITEM_SIZE);
	while (items->count < count && !l->in->err) {
		items->at[items->count] = read_value(l);
		if (!l->in->err)
			items->count++;
	}
}

static const struct value *read_sequence(struct loader *l, enum value_type type,
					 size_t count)
{
	struct value *value = new_value(l, type);

	if (value)
		read_items(l, count, &value->items);
	return value;
}

/* A tuple's hash is as good as the worst of its items'. */
static void hash_tuple(struct value *tuple)
{
	struct tuple_hash hash = tuple_hash_start();

	tuple->hash_since = HASH_ALWAYS;
	for (size_t i = 0; i < tuple->items.count; i++) {
		const struct value *item = tuple->items.at[i];

		if (item->hash_since > tuple->hash_since)
			tuple->hash_since = item->hash_since;
		tuple_hash_add(&hash, item->hash);
	}
	tuple->hash = tuple_hash_end(&hash);
}

static const struct value *read_tuple(struct loader *l, size_t count)
{
	struct value *value = new_value(l, VALUE_TUPLE);

	if (value)
		read_items(l, count, &value->items);
	if (value && !l->in->err)
		hash_tuple(value);
	return value;
}

static const struct value *read_set(struct loader *l, enum value_type type)
{
	size_t count = reader_count(l->in, 1);
	struct value *value = new_value(l, type);
	struct marshal_set *set = allocate(l, 1, sizeof(*set));

	if (!value || !set)
		return NULL;
	read_items(l, count, &value->items);
	if (l->in->err)
		return NULL;
	*set = (struct marshal_set){ value, l->out->sets };
	l->out->sets = set;
	return value;
}

/* Doubles the room; the old half is the arena's to free. */
static void grow_items(struct loader *l, struct items *items, size_t *capacity)
{
	size_t larger = *capacity ? *capacity * 2 : 8;
	const struct value **at = allocate(l, larger, ITEM_SIZE);

	if (!at)
		return;
	if (items->count)
		memcpy(at, items->at, items->count * ITEM_SIZE);
	items->at = at;
	*capacity = larger;
}

static bool take_null(struct loader *l)
{
	if (!reader_left(l->in) || *l->in->pos != '0')
		return false;
	reader_u8(l->in);
	return true;
}

static const struct value *read_dict(struct loader *l)
{
	struct value *value = new_value(l, VALUE_DICT);
	size_t capacity = 0;

	while (value && !l->in->err && !take_null(l)) {
		struct items *items = &value->items;

		if (items->count + 2 > capacity)
			grow_items(l, items, &capacity);
		for (int i = 0; i < 2 && !l->in->err; i++) {
			items->at[items->count] = read_value(l);
			items->count += !l->in->err;
		}
	}
	return value;
}

static const struct value *read_slice(struct loader *l)
{
	l->out->has_slice = true;
	return read_sequence(l, VALUE_SLICE, 3);
}

static const struct value *read_reference(struct loader *l)
{
	size_t number = reader_le32(l->in);

	if (l->in->err)
		return NULL;
	if (number < l->reference_count && l->references[number])
		return l->references[number];
	reader_fail(l->in, -EBADMSG, "a reference to nothing");
	return NULL;
}

static struct text read_code_text(struct loader *l, enum value_type type)
{
	const struct value *value = read_value(l);

	if (!value)
		return (struct text){ NULL, 0 };
	if (value->type != type)
		reader_fail(l->in, -EBADMSG, "a code object's field is bad");
	return value->type == type ? value->text : (struct text){ NULL, 0 };
}

static struct items read_code_tuple(struct loader *l)
{
	const struct value *value = read_value(l);

	if (!value)
		return (struct items){ NULL, 0 };
	if (value->type != VALUE_TUPLE)
		reader_fail(l->in, -EBADMSG, "a code object's field is bad");
	return value->type == VALUE_TUPLE ? value->items
					  : (struct items){ NULL, 0 };
}

static struct items read_code_names(struct loader *l)
{
	struct items names = read_code_tuple(l);

	for (size_t i = 0; i < names.count; i++) {
		if (names.at[i]->type == VALUE_STR)
			continue;
		reader_fail(l->in, -EBADMSG, "a name is not a string");
		return (struct items){ NULL, 0 };
	}
	return names;
}

static void read_code_counts(struct loader *l, struct code *code)
{
	code->arguments = (int32_t)reader_le32(l->in);
	reader_le32(l->in); /* of these, positional only */
	code->keyword_only = (int32_t)reader_le32(l->in);
	if (l->layout == LAYOUT_OLD)
		reader_le32(l->in); /* locals */
	reader_le32(l->in);	    /* stack size */
	code->flags = reader_le32(l->in);
}

static void read_code_locals(struct loader *l, struct code *code)
{
	code->locals = read_code_names(l);
	if (l->layout == LAYOUT_OLD) {
		code->frees = read_code_names(l);
		code->cells = read_code_names(l);
		return;
	}
	code->kinds = read_code_text(l, VALUE_BYTES);
	if (code->kinds.size != code->locals.count)
		reader_fail(l->in, -EBADMSG, "not every local has one kind");
}

static void read_code_fields(struct loader *l, struct code *code)
{
	read_code_counts(l, code);
	code->bytecode = read_code_text(l, VALUE_BYTES);
	if (code->bytecode.size % 2)
		reader_fail(l->in, -EBADMSG, "half an instruction");
	code->consts = read_code_tuple(l);
	code->names = read_code_names(l);
	read_code_locals(l, code);
	code->filename = read_code_text(l, VALUE_STR);
	code->name = read_code_text(l, VALUE_STR);
	if (l->layout == LAYOUT_NEW)
		read_code_text(l, VALUE_STR); /* qualified name */
	code->first_line = (int32_t)reader_le32(l->in);
	code->lines = read_code_text(l, VALUE_BYTES);
	if (l->layout == LAYOUT_NEW)
		code->exceptions = read_code_text(l, VALUE_BYTES);
}

static const struct value *read_code(struct loader *l)
{
	struct value *value = new_value(l, VALUE_CODE);
	struct code *code = allocate(l, 1, sizeof(*code));

	if (!value || !code)
		return NULL;
	code->start = l->in->pos - 1; /* its type */
	*l->last = code;
	l->last = &code->next;
	read_code_fields(l, code);
	code->is_whole = !l->in->err;
	value->code = code;
	return value;
}

static const struct value *read_collection(struct loader *l, uint8_t type)
{
	switch (type) {
	case ')':
		return read_tuple(l, reader_u8(l->in));
	case '(':
		return read_tuple(l, reader_count(l->in, 1));
	case '[':
		return read_sequence(l, VALUE_LIST, reader_count(l->in, 1));
	case '{':
		return read_dict(l);
	case '<':
		return read_set(l, VALUE_SET);
	case '>':
		return read_set(l, VALUE_FROZENSET);
	case ':':
		return read_slice(l);
	case 'c':
		return read_code(l);
	}
	reader_fail(l->in, -EBADMSG, "an unknown type of value");
	return NULL;
}

static const struct value *read_scalar(struct loader *l, uint8_t type)
{
	switch (type) {
	case 'i':
		return read_int(l);
	case 'l':
		return read_long(l);
	case 'g':
		return read_float(l);
	case 'y':
		return read_complex(l);
	case 's':
		return read_bytes(l);
	case 'z':
	case 'Z':
		return read_latin1(l, reader_u8(l->in));
	case 'a':
	case 'A':
		return read_latin1(l, read_size(l));
	case 'u':
	case 't':
		return read_utf8(l);
	}
	return read_collection(l, type);
}

/* The constants, which take no reference number even when flagged. */
static const struct value *find_constant(uint8_t type)
{
	switch (type) {
	case 'N':
		return &none;
	case 'T':
		return &yes;
	case 'F':
		return &no;
	case 'S':
		return &stop_iteration;
	case '.':
		return &ellipsis;
	}
	return NULL;
}

static bool make_room_for_reference(struct loader *l)
{
	struct items items = { l->references, l->reference_count };

	if (l->reference_count == l->reference_capacity)
		grow_items(l, &items, &l->reference_capacity);
	l->references = items.at;
	return items.at && l->reference_count < l->reference_capacity;
}

/* A value takes its number before those of its parts. */
static const struct value *read_numbered(struct loader *l, uint8_t type)
{
	size_t number = l->reference_count;
	const struct value *value;

	if (!make_room_for_reference(l))
		return NULL;
	l->references[l->reference_count++] = NULL;
	value = read_scalar(l, type);
	l->references[number] = l->in->err ? NULL : value;
	return value;
}

static const struct value *read_value(struct loader *l)
{
	uint8_t byte = reader_u8(l->in);
	uint8_t type = byte & (uint8_t)~FLAG_REF;
	const struct value *value = find_constant(type);

	if (value || l->in->err)
		return l->in->err ? NULL : value;
	if (type == 'r')
		return read_reference(l);
	if (l->depth == MARSHAL_DEPTH_MAX)
		reader_fail(l->in, -E2BIG, "values are nested too deeply");
	l->depth++;
	value = byte & FLAG_REF ? read_numbered(l, type) : read_scalar(l, type);
	l->depth--;
	return l->in->err ? NULL : value;
}

void marshal_salvage(struct reader *in, enum code_layout layout,
		     struct arena *arena, struct marshal *marshal)
{
	struct loader l = { .in = in,
			    .arena = arena,
			    .layout = layout,
			    .out = marshal,
			    .last = &marshal->codes };
	const struct value *value;

	*marshal = (struct marshal){ 0 };
	value = read_value(&l);
	if (value && value->type != VALUE_CODE)
		reader_fail(in, -EBADMSG, "not a code object");
	if (value && reader_left(in))
		reader_fail(in, -EBADMSG, "bytes after the code object");
	if (value && !in->err)
		marshal->code = value->code;
}

int marshal_read(struct reader *in, enum code_layout layout,
		 struct arena *arena, struct marshal *marshal)
{
	struct marshal out;

	marshal_salvage(in, layout, arena, &out);
	if (!in->err)
		*marshal = out;
	return in->err;
}
