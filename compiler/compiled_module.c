/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/compiled_module.h"

#include <errno.h>

#include "compiler/budget.h"
#include "compiler/pickle.h"
#include "compiler/pickle_scan.h"
#include "compiler/pickle_stream.h"
#include "compiler/verdict.h"

enum { REASON_MAX = 4096 /* of a fault; a verdict takes its beginning */ };

static void take_parts(const struct pickle *pickle,
		       struct compiled_module *module)
{
	const struct pickled *const *whole = pickle->artifact->object.members;
	const struct pickled *const *meta = whole[0]->object.members;
	const struct pickled *const *fx = whole[2]->object.members;

	*module = (struct compiled_module){
		.protocol = pickle->protocol,
		.module = pickle->module,
		.name = meta[0]->text,
		.date = meta[1]->text,
		.version = meta[2]->text,
		.compiled_fn = whole[1]->text,
		.signature = fx[0]->text,
		.py_code = fx[1]->text,
		.parameters = fx[2]->list.count,
	};
}

/* Why what pickle_read() has refused is no compiled_module. */
static int explain(const void *bytes, size_t size, struct fault *fault)
{
	struct fault broken = { 0 };

	switch (pickle_scan(bytes, size, &broken.why, &broken.where)) {
	case PICKLE_BROKEN:
		*fault = broken;
		return -EBADMSG;
	case PICKLE_NEWER:
	case PICKLE_WHOLE:
		break;
	}
	return -ENOTSUP;
}

int compiled_module_read(const void *bytes, size_t size,
			 struct compiled_module *module, struct fault *fault)
{
	struct arena arena = arena_upto(budget_memory(size));
	struct pickle pickle;
	int err;

	if (!size) {
		*fault = (struct fault){ .why = "the file is empty" };
		return -EBADMSG;
	}
	err = pickle_read(bytes, size, &arena, &pickle, fault);
	if (!err)
		take_parts(&pickle, module);
	arena_free(&arena);
	return err && err != -ENOMEM ? explain(bytes, size, fault) : err;
}

bool compiled_module_is_known(const struct compiled_module *module)
{
	static const char *const versions[] = { "1.0.0", "1.0.1", "1.0.2",
						"1.0.3", "1.0.4", "1.0.5",
						"1.0.6" };

	for (size_t i = 0; i < sizeof(versions) / sizeof(versions[0]); i++)
		if (text_equals(module->version, versions[i]))
			return true;
	return false;
}

void compiled_module_unknown(const struct compiled_module *module,
			     const void *bytes, struct fault *fault)
{
	const uint8_t *start = bytes;

	*fault = (struct fault){
		.why = "a version that is not known",
		.where = (size_t)(module->version.bytes - start),
		.names = { module->version },
	};
}

static int read_code(const struct compiled_module *module, const void *bytes,
		     size_t size, struct fault *fault)
{
	struct arena arena = arena_upto(budget_memory(size));
	const uint8_t *code = module->compiled_fn.bytes;
	struct found found;
	int err = detect_python(code, module->compiled_fn.size,
				module->protocol, &arena, &found, fault);

	fault->where += (size_t)(code - (const uint8_t *)bytes);
	arena_free(&arena);
	return err;
}

/* `what` goes before the fault. */
static void set_verdict(struct verdict *verdict, enum soundness soundness,
			const char *what, const struct fault *fault)
{
	struct writer text = writer_upto(REASON_MAX);

	fault_put(fault, &text);
	verdict_set(verdict, soundness, fault->where, "%s%.*s", what,
		    (int)text.size, (const char *)text.bytes);
	writer_free(&text);
}

void compiled_module_judge(const void *bytes, size_t size,
			   struct verdict *verdict)
{
	struct compiled_module module;
	struct fault fault = { 0 };
	int err = compiled_module_read(bytes, size, &module, &fault);

	if (err) {
		set_verdict(verdict, err == -ENOTSUP ? FOREIGN : UNSOUND, "",
			    &fault);
		return;
	}
	if (!compiled_module_is_known(&module)) {
		compiled_module_unknown(&module, bytes, &fault);
		set_verdict(verdict, FOREIGN, "", &fault);
		return;
	}
	err = read_code(&module, bytes, size, &fault);
	if (err)
		set_verdict(verdict, err == -ENOMEM ? UNSOUND : FOREIGN,
			    "compiled_fn: ", &fault);
	else
		verdict_sound(verdict);
}

/* The fields to look for, and where their value goes. */
static struct text *find_part(struct compiled_module *module, struct text key)
{
	const struct {
		const char *name;
		struct text *part;
	} parts[] = {
		{ "name", &module->name },
		{ "date", &module->date },
		{ "version", &module->version },
		{ "compiled_fn", &module->compiled_fn },
		{ "signature", &module->signature },
		{ "py_code", &module->py_code },
	};

	for (size_t i = 0; i < sizeof(parts) / sizeof(parts[0]); i++)
		if (text_equals(key, parts[i].name) && !parts[i].part->bytes)
			return parts[i].part;
	return NULL;
}

static bool is_text(const struct pickle_op *op)
{
	return op->opcode->argument >= PICKLE_TEXT1 &&
	       op->opcode->argument <= PICKLE_TEXT8;
}

static bool is_memo(const struct pickle_op *op)
{
	return op->byte == PICKLE_MEMOIZE || op->byte == PICKLE_BINPUT ||
	       op->byte == PICKLE_LONG_BINPUT || op->byte == PICKLE_FRAME;
}

static bool is_bytes(const struct pickle_op *op)
{
	return op->opcode->argument >= PICKLE_BYTES1 &&
	       op->opcode->argument <= PICKLE_BYTES8;
}

/* What is there of a text, or of bytes, that the input cuts off. */
static struct text take_beginning(const struct pickle_op *op,
				  const struct reader *in)
{
	static const size_t heads[] = {
		[PICKLE_BYTES1] = 2, [PICKLE_BYTES4] = 5, [PICKLE_BYTES8] = 9,
		[PICKLE_TEXT1] = 2,  [PICKLE_TEXT4] = 5,  [PICKLE_TEXT8] = 9,
	};
	size_t head = op->offset + heads[op->opcode->argument];
	size_t left = (size_t)(in->end - in->start);
	struct text text = { NULL, 0 };
	uint32_t point;
	size_t next;

	if (head >= left)
		return text;
	text.bytes = in->start + head;
	left -= head;
	if (is_bytes(op))
		return (struct text){ text.bytes, left };
	do {
		next = utf8_next(text.bytes + text.size, left - text.size,
				 &point);
		text.size += next;
	} while (next);
	return text;
}

/* The value that follows a key: a text for all but compiled_fn. */
static void take_value(struct text *part, const struct compiled_module *module,
		       const struct pickle_op *op)
{
	if (part == &module->compiled_fn ? is_bytes(op) : is_text(op))
		*part = op->text;
}

void compiled_module_salvage(const void *bytes, size_t size,
			     struct compiled_module *module)
{
	struct pickle_stream stream = pickle_stream_over(bytes, size);
	struct text *part = NULL;
	struct pickle_op op;

	*module = (struct compiled_module){ 0 };
	stream.ignores_frames = true;
	do {
		pickle_stream_next(&stream, &op);
		if (stream.in.err || is_memo(&op))
			continue;
		if (op.byte == PICKLE_PROTO)
			module->protocol = (unsigned)op.number;
		if (part)
			take_value(part, module, &op);
		part = is_text(&op) ? find_part(module, op.text) : NULL;
	} while (!stream.in.err && op.byte != PICKLE_STOP);
	if (stream.in.err && part && op.opcode && op.opcode->name &&
	    (part == &module->compiled_fn ? is_bytes(&op) : is_text(&op)))
		*part = take_beginning(&op, &stream.in);
}
