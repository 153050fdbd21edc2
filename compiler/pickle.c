/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/pickle.h"

#include <errno.h>
#include <string.h>

#include "compiler/memory.h"
#include "compiler/pickle_stream.h"

enum {
	STACK_MAX = 4096, /* lists come in batches of 1000 */
	FIRST_CAPACITY = 16,
	PROTOCOL_LEAST = 3
};

struct field {
	const char *name;
	enum pickle_type type;
	enum pickle_class class; /* of an object */
};

struct pickled_dict {
	struct text keys[PICKLE_FIELDS];
	const struct pickled *values[PICKLE_FIELDS];
	size_t count;
};

static const char *const modules[] = {
	"torchair.inference._cache_compiler",
	"npugraph_ex.inference._cache_compiler",
	"torchair.inference.cache_compiler",
};

static const struct {
	const char *name;
	struct field fields[PICKLE_FIELDS];
} classes[] = {
	[PICKLED_ARTIFACT] = { "ModelCacheArtifact",
			       { { "meta", PICKLED_OBJECT, PICKLED_META },
				 { "compiled_fn", PICKLED_BYTES, 0 },
				 { "compiled_fx", PICKLED_OBJECT,
				   PICKLED_FX } } },
	[PICKLED_META] = { "ModelCacheMeta",
			   { { "name", PICKLED_STR, 0 },
			     { "date", PICKLED_STR, 0 },
			     { "version", PICKLED_STR, 0 } } },
	[PICKLED_FX] = { "CompiledFX",
			 { { "signature", PICKLED_STR, 0 },
			   { "py_code", PICKLED_STR, 0 },
			   { "input_parameters", PICKLED_LIST, 0 } } },
};

struct machine {
	struct pickle_stream stream;
	struct arena *arena;
	struct pickled *stack[STACK_MAX];
	size_t depth;
	struct pickled **memo;
	size_t memo_count;
	size_t memo_capacity;
	struct pickled mark; /* values that need no more than one of each */
	struct pickled empty_tuple;
	struct pickled booleans[2];
	const char *module;
	unsigned protocol;
	int err;
	struct fault *fault;
};

static void *refuse(struct machine *m, const char *why)
{
	if (!m->err) {
		m->err = -EBADMSG;
		m->fault->why = why;
	}
	return NULL;
}

static void *allocate(struct machine *m, size_t count, size_t size)
{
	int err = 0;
	void *memory = memory_take(m->arena, count, size, &err);

	if (!memory && !m->err) {
		m->err = err;
		m->fault->why = memory_why(err);
	}
	return memory;
}

/* Room for one more pointer; the old room is the arena's to free. */
static void *grow(struct machine *m, void *pointers, size_t count,
		  size_t *capacity)
{
	size_t larger = *capacity ? *capacity * 2 : FIRST_CAPACITY;
	void *room;

	if (count < *capacity)
		return pointers;
	room = allocate(m, larger, sizeof(void *));
	if (!room)
		return NULL;
	if (count)
		memcpy(room, pointers, count * sizeof(void *));
	*capacity = larger;
	return room;
}

static void push(struct machine *m, struct pickled *value)
{
	if (m->depth == STACK_MAX)
		refuse(m, "the stack is too deep");
	else if (value)
		m->stack[m->depth++] = value;
}

static struct pickled *push_new(struct machine *m, enum pickle_type type)
{
	struct pickled *value = allocate(m, 1, sizeof(*value));

	if (value)
		value->type = type;
	push(m, value);
	return value;
}

static void push_text(struct machine *m, enum pickle_type type,
		      struct text text)
{
	struct pickled *value = push_new(m, type);

	if (value)
		value->text = text;
}

static struct pickled *top(struct machine *m)
{
	if (!m->depth || m->stack[m->depth - 1]->type == PICKLED_MARK)
		return refuse(m, "a value is missing");
	return m->stack[m->depth - 1];
}

static struct pickled *pop(struct machine *m, enum pickle_type type)
{
	struct pickled *value = top(m);

	if (value && value->type != type)
		return refuse(m, "a value of another type is due");
	if (value)
		m->depth--;
	return value;
}

/* Where the items above the topmost mark start; the depth if there is none. */
static size_t find_mark(struct machine *m)
{
	size_t start = m->depth;

	while (start && m->stack[start - 1]->type != PICKLED_MARK)
		start--;
	if (!start)
		refuse(m, "a mark is missing");
	return start ? start : m->depth;
}

static bool find_class(struct text name, enum pickle_class *class)
{
	for (size_t i = 0; i < sizeof(classes) / sizeof(classes[0]); i++) {
		if (!text_equals(name, classes[i].name))
			continue;
		*class = (enum pickle_class)i;
		return true;
	}
	return false;
}

static void push_class(struct machine *m, struct text module, struct text name)
{
	const char *known = NULL;
	enum pickle_class class;
	struct pickled *value;

	for (size_t i = 0; i < sizeof(modules) / sizeof(modules[0]); i++)
		if (text_equals(module, modules[i]))
			known = modules[i];
	if (!known || !find_class(name, &class)) {
		refuse(m, "a class that is not known");
		m->fault->names[0] = module;
		m->fault->names[1] = name;
		return;
	}
	if (m->module && m->module != known)
		refuse(m, "classes of two packages");
	m->module = known;
	value = push_new(m, PICKLED_CLASS);
	if (value)
		value->class = class;
}

static void stack_global(struct machine *m)
{
	const struct pickled *name = pop(m, PICKLED_STR);
	const struct pickled *module = pop(m, PICKLED_STR);

	if (name && module)
		push_class(m, module->text, name->text);
}

static void new_object(struct machine *m)
{
	const struct pickled *arguments = pop(m, PICKLED_EMPTY_TUPLE);
	const struct pickled *class = pop(m, PICKLED_CLASS);
	struct pickled *object;

	if (!arguments || !class)
		return;
	object = push_new(m, PICKLED_OBJECT);
	if (object)
		object->object.class = class->class;
}

static void new_dict(struct machine *m)
{
	struct pickled *value = push_new(m, PICKLED_DICT);

	if (value)
		value->dict = allocate(m, 1, sizeof(*value->dict));
}

static void new_pair(struct machine *m)
{
	const struct pickled *flag = pop(m, PICKLED_BOOL);
	const struct pickled *name = pop(m, PICKLED_STR);
	struct pickled *value;

	if (!flag || !name)
		return;
	value = push_new(m, PICKLED_PAIR);
	if (!value)
		return;
	value->pair.name = name->text;
	value->pair.flag = flag->flag;
}

static void append(struct machine *m, struct pickled *list,
		   const struct pickled *item)
{
	if (item->type != PICKLED_PAIR) {
		refuse(m, "a list's item is no pair of a str and a bool");
		return;
	}
	list->list.items = grow(m, list->list.items, list->list.count,
				&list->list.capacity);
	if (list->list.items)
		list->list.items[list->list.count++] = item;
}

static bool has_key(const struct pickled_dict *dict, struct text key)
{
	for (size_t i = 0; i < dict->count; i++)
		if (dict->keys[i].size == key.size &&
		    memcmp(dict->keys[i].bytes, key.bytes, key.size) == 0)
			return true;
	return false;
}

static void set_item(struct machine *m, struct pickled_dict *dict,
		     const struct pickled *key, const struct pickled *value)
{
	if (key->type != PICKLED_STR)
		refuse(m, "a key is not a string");
	else if (dict->count == PICKLE_FIELDS || has_key(dict, key->text))
		refuse(m, "a field too many");
	if (m->err)
		return;
	dict->keys[dict->count] = key->text;
	dict->values[dict->count++] = value;
}

/* Moves the items from `start` on into the list or dict below `below`. */
static void fill(struct machine *m, enum pickle_type type, size_t start,
		 size_t below)
{
	size_t end = m->depth;
	struct pickled *into;

	m->depth = below;
	into = top(m);
	if (!into)
		return;
	if (into->type != type)
		refuse(m, "items for what holds none");
	if (type == PICKLED_DICT && (end - start) % 2)
		refuse(m, "a key without a value");
	for (size_t i = start; i < end && !m->err; i++) {
		if (type == PICKLED_LIST) {
			append(m, into, m->stack[i]);
			continue;
		}
		set_item(m, into->dict, m->stack[i], m->stack[i + 1]);
		i++;
	}
}

static void fill_from_mark(struct machine *m, enum pickle_type type)
{
	size_t start = find_mark(m);

	if (!m->err)
		fill(m, type, start, start - 1);
}

/* The topmost `count` values, which are no marks. */
static void fill_with(struct machine *m, enum pickle_type type, size_t count)
{
	size_t values = 0;

	while (values < m->depth && values < count &&
	       m->stack[m->depth - 1 - values]->type != PICKLED_MARK)
		values++;
	if (values < count)
		refuse(m, "a value is missing");
	else
		fill(m, type, m->depth - count, m->depth - count);
}

static bool fits(const struct field *field, const struct pickled *value)
{
	if (value->type != field->type)
		return false;
	return value->type != PICKLED_OBJECT ||
	       (value->object.built && value->object.class == field->class);
}

static const struct pickled *find_field(const struct pickled_dict *dict,
					const struct field *field)
{
	for (size_t i = 0; i < dict->count; i++)
		if (text_equals(dict->keys[i], field->name))
			return fits(field, dict->values[i]) ? dict->values[i]
							    : NULL;
	return NULL;
}

static void build(struct machine *m)
{
	const struct pickled *state = pop(m, PICKLED_DICT);
	struct pickled *object = state ? top(m) : NULL;

	if (!object)
		return;
	if (object->type != PICKLED_OBJECT || object->object.built) {
		refuse(m, "fields for what is no new object");
		return;
	}
	for (size_t i = 0; i < PICKLE_FIELDS; i++) {
		const struct field *field =
			&classes[object->object.class].fields[i];

		object->object.members[i] = find_field(state->dict, field);
		if (!object->object.members[i])
			refuse(m, "a field is missing, or of another type");
	}
	object->object.built = true;
}

static void memoize(struct machine *m, uint64_t index)
{
	struct pickled *value = top(m);

	if (!value)
		return;
	if (index > m->memo_count) {
		refuse(m, "a memo number out of turn");
		return;
	}
	m->memo = grow(m, m->memo, m->memo_count, &m->memo_capacity);
	if (!m->memo)
		return;
	m->memo[index] = value;
	if (index == m->memo_count)
		m->memo_count++;
}

static void recall(struct machine *m, uint64_t index)
{
	if (index >= m->memo_count)
		refuse(m, "a memo number of nothing");
	else
		push(m, m->memo[index]);
}

static void set_protocol(struct machine *m, const struct pickle_op *op)
{
	if (op->offset || op->number < PROTOCOL_LEAST ||
	    op->number > PICKLE_PROTOCOL_MAX)
		refuse(m, "a protocol other than 3, 4 and 5");
	m->protocol = (unsigned)op->number;
}

static void execute_filling(struct machine *m, const struct pickle_op *op)
{
	switch (op->byte) {
	case PICKLE_SETITEMS:
		fill_from_mark(m, PICKLED_DICT);
		break;
	case PICKLE_SETITEM:
		fill_with(m, PICKLED_DICT, 2);
		break;
	case PICKLE_APPENDS:
		fill_from_mark(m, PICKLED_LIST);
		break;
	case PICKLE_APPEND:
		fill_with(m, PICKLED_LIST, 1);
		break;
	case PICKLE_BUILD:
		build(m);
		break;
	case PICKLE_STACK_GLOBAL:
		stack_global(m);
		break;
	case PICKLE_GLOBAL:
		push_class(m, op->text, op->second);
		break;
	case PICKLE_NEWOBJ:
		new_object(m);
		break;
	case PICKLE_REDUCE:
	case PICKLE_INST:
	case PICKLE_OBJ:
	case PICKLE_NEWOBJ_EX:
		refuse(m, "a call, which would run code");
		break;
	default:
		refuse(m, "an opcode that TorchAir does not use");
		break;
	}
}

static void execute_memo(struct machine *m, const struct pickle_op *op)
{
	switch (op->byte) {
	case PICKLE_MEMOIZE:
		memoize(m, m->memo_count);
		break;
	case PICKLE_BINPUT:
	case PICKLE_LONG_BINPUT:
		memoize(m, op->number);
		break;
	case PICKLE_BINGET:
	case PICKLE_LONG_BINGET:
		recall(m, op->number);
		break;
	case PICKLE_PROTO:
		set_protocol(m, op);
		break;
	case PICKLE_FRAME:
	case PICKLE_STOP:
		break;
	default:
		execute_filling(m, op);
		break;
	}
}

static void execute(struct machine *m, const struct pickle_op *op)
{
	switch (op->byte) {
	case PICKLE_SHORT_BINUNICODE:
	case PICKLE_BINUNICODE:
	case PICKLE_BINUNICODE8:
		push_text(m, PICKLED_STR, op->text);
		break;
	case PICKLE_SHORT_BINBYTES:
	case PICKLE_BINBYTES:
	case PICKLE_BINBYTES8:
		push_text(m, PICKLED_BYTES, op->text);
		break;
	case PICKLE_MARK:
		push(m, &m->mark);
		break;
	case PICKLE_EMPTY_TUPLE:
		push(m, &m->empty_tuple);
		break;
	case PICKLE_EMPTY_DICT:
		new_dict(m);
		break;
	case PICKLE_EMPTY_LIST:
		push_new(m, PICKLED_LIST);
		break;
	case PICKLE_NEWTRUE:
	case PICKLE_NEWFALSE:
		push(m, &m->booleans[op->byte == PICKLE_NEWTRUE]);
		break;
	case PICKLE_TUPLE2:
		new_pair(m);
		break;
	default:
		execute_memo(m, op);
		break;
	}
}

/* What is left on the stack after STOP. */
static const struct pickled *artifact_of(struct machine *m)
{
	const struct pickled *value = pop(m, PICKLED_OBJECT);

	if (!value)
		return NULL;
	if (m->depth)
		return refuse(m, "more than one value at the end");
	if (reader_left(&m->stream.in))
		return refuse(m, "bytes after the end");
	if (value->object.class != PICKLED_ARTIFACT || !value->object.built)
		return refuse(m, "the whole is not an artifact");
	return value;
}

static void run(struct machine *m)
{
	struct pickle_op op = { 0 };

	do {
		pickle_stream_next(&m->stream, &op);
		m->fault->where = op.offset;
		if (m->stream.in.err) {
			refuse(m, m->stream.in.why);
			m->fault->where = m->stream.in.where;
		} else if (!op.offset && op.byte != PICKLE_PROTO) {
			refuse(m, "a protocol other than 3, 4 and 5");
		} else {
			execute(m, &op);
		}
	} while (!m->err && op.byte != PICKLE_STOP);
}

static struct machine new_machine(const void *bytes, size_t size,
				  struct arena *arena, struct fault *fault)
{
	return (struct machine){
		.stream = pickle_stream_over(bytes, size),
		.arena = arena,
		.mark = { .type = PICKLED_MARK },
		.empty_tuple = { .type = PICKLED_EMPTY_TUPLE },
		.booleans = { { .type = PICKLED_BOOL, .flag = false },
			      { .type = PICKLED_BOOL, .flag = true } },
		.fault = fault,
	};
}

int pickle_read(const void *bytes, size_t size, struct arena *arena,
		struct pickle *pickle, struct fault *fault)
{
	struct fault found = { 0 };
	struct machine m = new_machine(bytes, size, arena, &found);
	const struct pickled *artifact = NULL;

	run(&m);
	if (!m.err)
		artifact = artifact_of(&m);
	if (m.err) {
		*fault = found;
		return m.err;
	}
	*pickle = (struct pickle){ artifact, m.protocol, m.module };
	return 0;
}
