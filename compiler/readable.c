/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/readable.h"

#include <errno.h>
#include <string.h>

#include "compiler/budget.h"
#include "compiler/compiled_module.h"
#include "compiler/python/dis.h"
#include "compiler/python/repr.h"
#include "compiler/verdict.h"

enum {
	FRAME_RULE = 44,  /* dashes on either side of "caller frame" */
	TITLE_RULE = 100, /* equals signs above everything */
	NOTES_MAX = 4096,
	CUT_NOTE_MAX = 128,
	PIECE = 4096,
	ROOM_LEAST = NOTES_MAX + 3 * CUT_NOTE_MAX
};

struct rendering {
	const uint8_t *bytes; /* the input */
	size_t size;
	struct compiled_module module;
	struct arena arena;
	struct found found;  /* its python is NULL: there is no code */
	bool is_sound;	     /* the code is */
	struct writer notes; /* what is wrong */
	struct writer *out;
	size_t start; /* of the text, in `out` */
	size_t limit; /* of the text */
	struct reading *reading;
};

/* The worst is said first, and is the verdict. */
static void note(struct rendering *r, const char *what,
		 enum soundness soundness, const char *prefix,
		 const struct fault *fault)
{
	struct verdict *verdict = &r->reading->verdict;
	size_t start;

	writer_printf(&r->notes, "%s at byte %zu: ", what, fault->where);
	start = r->notes.size;
	fault_put(fault, &r->notes);
	if (verdict->soundness == SOUND && !r->notes.err)
		verdict_set(verdict, soundness, fault->where, "%s%.*s", prefix,
			    (int)(r->notes.size - start),
			    (const char *)r->notes.bytes + start);
	writer_string(&r->notes, ".\n");
}

static void put_title(struct rendering *r)
{
	const struct compiled_module *m = &r->module;
	enum unicode unicode =
		r->found.python ? r->found.python->unicode : UNICODE_16_0;

	writer_fill(r->out, '=', TITLE_RULE);
	writer_string(r->out, "\nModelCacheMeta(name=");
	repr_str(r->out, m->name, unicode);
	writer_string(r->out, ", date=");
	repr_str(r->out, m->date, unicode);
	writer_string(r->out, ", version=");
	repr_str(r->out, m->version, unicode);
	writer_string(r->out, ")\n");
}

/* Forgets what does not fit, down to the last whole line, and says so. */
static void cut(struct rendering *r, size_t size, const char *why)
{
	struct writer *out = r->out;
	const uint8_t *end = NULL;

	if (size > r->start)
		end = memrchr(out->bytes + r->start, '\n', size - r->start);
	writer_cut(out, end ? (size_t)(end - out->bytes) + 1 : r->start);
	out->limit += CUT_NOTE_MAX;
	writer_printf(out,
		      "[The text is cut here: %s. The limit is %zu bytes.]\n",
		      why, r->limit);
	r->reading->is_cut = true;
}

/* -EFBIG, left for later, when there is no room; else why it is cut, or NULL.
 */
static const char *put_frame(struct rendering *r)
{
	struct writer *out = r->out;
	struct dis_options options = {
		.mode = r->is_sound ? PROGRAM_STRICT : PROGRAM_LENIENT,
		.user_classes = true,
		.start = r->bytes,
		.work = budget_work(r->size),
	};
	struct fault fault = { 0 };

	writer_fill(out, '-', FRAME_RULE);
	writer_string(out, "caller frame");
	writer_fill(out, '-', FRAME_RULE);
	writer_u8(out, '\n');
	return dis_write(out, r->found.python, &r->found.marshal, &r->arena,
			 &options, &fault)
		       ? fault.why
		       : NULL;
}

/* All that becomes comments. */
static int put_text(struct rendering *r)
{
	const struct compiled_module *m = &r->module;
	struct writer *out = r->out;
	const char *why = NULL;

	writer_put(out, r->notes.bytes, r->notes.size);
	if (m->name.bytes || m->date.bytes || m->version.bytes)
		put_title(r);
	if (m->signature.bytes) {
		utf8_put(out, m->signature);
		writer_u8(out, '\n');
	}
	if (r->found.python)
		why = put_frame(r);
	if (out->err == -EFBIG)
		why = "it is longer than allowed";
	if (why && out->err != -ENOMEM)
		cut(r, out->size, why);
	return out->err;
}

/* How much of the text has room, in whole lines, once they are comments. */
static size_t fitting(const uint8_t *text, size_t size, size_t room)
{
	size_t kept = 0, marks = 1;
	const uint8_t *end;

	for (size_t at = 0; at < size; at = (size_t)(end - text) + 1) {
		end = memchr(text + at, '\n', size - at);
		if (!end)
			return size + 2 * marks + 1 > room ? kept : size;
		marks++;
		if ((size_t)(end - text) + 2 + 2 * marks > room)
			return kept;
		kept = (size_t)(end - text) + 1;
	}
	return size;
}

static size_t count_lines(const uint8_t *text, size_t size)
{
	const uint8_t *end = text + size;
	size_t lines = 0;

	while (text < end &&
	       (text = memchr(text, '\n', (size_t)(end - text)))) {
		lines++;
		text++;
	}
	return lines;
}

/*
 * Where the line begins that ends at `end`. In pieces, since a sanitizer looks
 * at all that memrchr() might look at.
 */
static size_t line_start(const uint8_t *text, size_t start, size_t end)
{
	while (end > start) {
		size_t size = end - start < PIECE ? end - start : PIECE;
		const uint8_t *before = memrchr(text + end - size, '\n', size);

		if (before)
			return (size_t)(before - text) + 1;
		end -= size;
	}
	return start;
}

/*
 * Puts "# " before every line, and before what follows the last newline, and a
 * newline behind it all: in place, from the end.
 */
static void make_comments(struct writer *out, size_t start)
{
	size_t lines = count_lines(out->bytes + start, out->size - start);
	size_t end = out->size, search = end, to, from;

	writer_fill(out, '\n', 2 * lines + 3);
	if (out->err)
		return;
	to = out->size - 1;
	do {
		from = line_start(out->bytes, start, search);
		to -= end - from;
		memmove(out->bytes + to, out->bytes + from, end - from);
		to -= 2;
		memcpy(out->bytes + to, "# ", 2);
		end = from;
		search = from - 1;
	} while (from > start);
}

/* Its beginning, in whole characters. */
static struct text beginning(struct text text, size_t size)
{
	while (size && size < text.size && (text.bytes[size] & 0xc0) == 0x80)
		size--;
	return (struct text){ text.bytes, size };
}

static int put_all(struct rendering *r)
{
	struct writer *out = r->out;
	struct text code = r->module.py_code;
	size_t limit = out->limit, room = limit - r->start - ROOM_LEAST, fits;
	bool is_whole = code.size <= room;
	int err;

	if (!is_whole)
		code = beginning(code, room);
	out->limit = limit - code.size - (size_t)2 * CUT_NOTE_MAX;
	room = out->limit - r->start;
	err = put_text(r);
	if (err)
		return err;
	fits = fitting(out->bytes + r->start, out->size - r->start, room);
	if (fits < out->size - r->start)
		cut(r, r->start + fits, "it is longer than allowed");
	out->limit = limit;
	make_comments(out, r->start);
	utf8_put(out, code);
	if (!is_whole)
		writer_string(out, "\n# [The text is cut here.]\n");
	r->reading->is_cut = r->reading->is_cut || !is_whole;
	return out->err;
}

static void note_pickle(struct rendering *r, int trouble,
			const struct fault *fault)
{
	if (trouble == -ENOTSUP)
		note(r, "This is not a compiled_module as TorchAir writes it,",
		     FOREIGN, "", fault);
	else
		note(r, "This compiled_module is damaged,", UNSOUND, "", fault);
}

static void note_code(struct rendering *r, struct fault *fault)
{
	fault->where += (size_t)(r->module.compiled_fn.bytes - r->bytes);
	note(r, "compiled_fn cannot be shown,", FOREIGN,
	     "compiled_fn: ", fault);
	if (r->found.python)
		writer_printf(&r->notes,
			      "What could be read of it is shown as Python %s "
			      "would read it.\n",
			      r->found.python->name);
}

static int read_code(struct rendering *r, const struct python *given)
{
	const struct text *code = &r->module.compiled_fn;
	struct fault fault;
	int err;

	if (!code->bytes)
		return 0;
	if (given)
		err = detect_given(code->bytes, code->size, given, &r->arena,
				   &r->found, &fault);
	else
		err = detect_python(code->bytes, code->size, r->module.protocol,
				    &r->arena, &r->found, &fault);
	r->is_sound = !err;
	if (err == -ENOMEM)
		return err;
	if (err)
		note_code(r, &fault);
	else
		r->reading->python = r->found.python;
	return 0;
}

static int read_all(struct rendering *r, const struct python *given)
{
	struct fault fault = { 0 };
	int err = compiled_module_read(r->bytes, r->size, &r->module, &fault);

	if (err == -ENOMEM)
		return err;
	if (err) {
		note_pickle(r, err, &fault);
		compiled_module_salvage(r->bytes, r->size, &r->module);
	} else if (!compiled_module_is_known(&r->module)) {
		compiled_module_unknown(&r->module, r->bytes, &fault);
		note(r, "This is not a compiled_module as we know it,", FOREIGN,
		     "", &fault);
	}
	err = read_code(r, given);
	return err ? err : r->notes.err;
}

int readable_render_as(const void *bytes, size_t size,
		       const struct python *python, struct writer *out,
		       struct reading *reading)
{
	struct rendering r = {
		.bytes = bytes,
		.size = size,
		.arena = arena_upto(budget_memory(size)),
		.notes = writer_upto(NOTES_MAX),
		.out = out,
		.start = out->size,
		.reading = reading,
	};
	size_t limit = out->limit, allowed = out->size + budget_text(size);
	int err;

	*reading = (struct reading){ 0 };
	if (limit < out->size + ROOM_LEAST)
		return -EFBIG;
	if (allowed < limit)
		out->limit = allowed;
	r.limit = out->limit - r.start;
	err = read_all(&r, python);
	if (!err)
		err = put_all(&r);
	out->limit = limit;
	writer_free(&r.notes);
	arena_free(&r.arena);
	return err;
}

int readable_render(const void *bytes, size_t size, struct writer *out)
{
	struct reading reading;

	return readable_render_as(bytes, size, NULL, out, &reading);
}
