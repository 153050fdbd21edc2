/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/readable.h"

#include <errno.h>
#include <string.h>

#include "compiler/compiled_module.h"
#include "compiler/python/dis.h"
#include "compiler/python/repr.h"

enum {
	FRAME_RULE = 44,  /* dashes on either side of "caller frame" */
	TITLE_RULE = 100, /* equals signs above everything */
	DIS_MAX = 64 * 1024 * 1024
};

/* The Python's Unicode decides which characters the title escapes. */
struct sheet {
	struct compiled_module module;
	enum unicode unicode;
	int trouble; /* why it is not exact, as -errno */
	struct fault fault;
	struct writer notes; /* the same in words */
	struct writer dis;
	struct writer text; /* all that becomes comments */
};

static void note(struct sheet *s, const char *what, int trouble,
		 const struct fault *fault)
{
	if (!s->trouble) {
		s->trouble = trouble;
		s->fault = *fault;
	}
	writer_printf(&s->notes, "%s at byte %zu: %s.\n", what, fault->where,
		      fault->why);
}

static void put_title(struct sheet *s)
{
	const struct compiled_module *m = &s->module;

	writer_fill(&s->text, '=', TITLE_RULE);
	writer_string(&s->text, "\nModelCacheMeta(name=");
	repr_str(&s->text, m->name, s->unicode);
	writer_string(&s->text, ", date=");
	repr_str(&s->text, m->date, s->unicode);
	writer_string(&s->text, ", version=");
	repr_str(&s->text, m->version, s->unicode);
	writer_string(&s->text, ")\n");
}

static void put_frame(struct sheet *s)
{
	writer_fill(&s->text, '-', FRAME_RULE);
	writer_string(&s->text, "caller frame");
	writer_fill(&s->text, '-', FRAME_RULE);
	writer_u8(&s->text, '\n');
	writer_put(&s->text, s->dis.bytes, s->dis.size);
}

/* Puts "# " before every line, and before what follows the last newline. */
static void put_comments(struct writer *out, const struct writer *text)
{
	const uint8_t *at = text->bytes;
	size_t left = text->size;
	const uint8_t *end;

	writer_string(out, "# ");
	while (left && (end = memchr(at, '\n', left))) {
		size_t size = (size_t)(end - at) + 1;

		writer_put(out, at, size);
		writer_string(out, "# ");
		at += size;
		left -= size;
	}
	writer_put(out, at, left);
	writer_u8(out, '\n');
}

static void put_text(struct sheet *s)
{
	const struct compiled_module *m = &s->module;

	writer_put(&s->text, s->notes.bytes, s->notes.size);
	if (m->name.bytes || m->date.bytes || m->version.bytes)
		put_title(s);
	if (m->signature.bytes) {
		utf8_put(&s->text, m->signature);
		writer_u8(&s->text, '\n');
	}
	if (s->dis.size)
		put_frame(s);
}

static int put_all(struct sheet *s, struct writer *out)
{
	put_text(s);
	if (s->text.err)
		return s->text.err;
	put_comments(out, &s->text);
	utf8_put(out, s->module.py_code);
	return out->err;
}

/* Disassembles compiled_fn. *fault says why it cannot be. */
static int render_dis(struct sheet *s, struct fault *fault)
{
	static const struct dis_options options = { .user_classes = true };
	struct arena arena = arena_upto(MARSHAL_MEMORY_MAX);
	const struct text *code = &s->module.compiled_fn;
	struct found found;
	int err = detect_python(code->bytes, code->size, s->module.protocol,
				&arena, &found, fault);

	if (!err) {
		s->unicode = found.python->unicode;
		fault->where = 0;
		fault->why = "it is too much to show";
		err = dis_write(&s->dis, found.python, &found.marshal, &arena,
				&options, &fault->why);
	}
	arena_free(&arena);
	return err;
}

static void note_version(struct sheet *s, const uint8_t *bytes)
{
	const struct fault fault = {
		"this version is not known",
		(size_t)(s->module.version.bytes - bytes),
	};

	note(s, "This is not a compiled_module as we know it,", -ENOTSUP,
	     &fault);
}

static void note_dis(struct sheet *s, const uint8_t *bytes, int trouble,
		     struct fault *fault)
{
	fault->where += (size_t)(s->module.compiled_fn.bytes - bytes);
	note(s, "compiled_fn cannot be shown,", trouble, fault);
	writer_free(&s->dis);
}

static void note_pickle(struct sheet *s, int trouble, const struct fault *fault)
{
	note(s,
	     trouble == -ENOTSUP
		     ? "This is not a compiled_module as TorchAir writes it,"
		     : "This compiled_module is damaged,",
	     trouble, fault);
}

static int render(struct sheet *s, const uint8_t *bytes, size_t size)
{
	struct fault fault = { 0 };
	int err = compiled_module_read(bytes, size, &s->module, &fault);

	if (err) {
		note_pickle(s, err, &fault);
		compiled_module_salvage(bytes, size, &s->module);
	} else if (!compiled_module_is_known(&s->module)) {
		note_version(s, bytes);
	}
	if (s->module.compiled_fn.bytes) {
		err = render_dis(s, &fault);
		if (err)
			note_dis(s, bytes, err, &fault);
	}
	return s->trouble == -ENOMEM ? -ENOMEM : s->notes.err;
}

static void sheet_free(struct sheet *s)
{
	writer_free(&s->notes);
	writer_free(&s->dis);
	writer_free(&s->text);
}

static struct sheet sheet_new(void)
{
	return (struct sheet){
		.unicode = UNICODE_16_0,
		.notes = writer_upto(READABLE_MAX),
		.dis = writer_upto(DIS_MAX),
		.text = writer_upto(READABLE_MAX),
	};
}

int readable_render(const void *bytes, size_t size, struct writer *out)
{
	struct sheet s = sheet_new();
	int err = render(&s, bytes, size);

	if (!err)
		err = put_all(&s, out);
	sheet_free(&s);
	return err;
}

int readable_render_exact(const void *bytes, size_t size, struct writer *out,
			  struct fault *fault)
{
	struct sheet s = sheet_new();
	int err = render(&s, bytes, size);

	*fault = s.fault;
	if (!err)
		err = s.trouble;
	if (!err)
		err = put_all(&s, out);
	sheet_free(&s);
	return err;
}
