/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/pickles.h"

#include <string.h>

enum { FILE_LIMIT = 1 << 24, LONG_STRING = 256 };

static void put_text(struct writer *out, const char *text)
{
	size_t size = strlen(text);

	if (size < LONG_STRING) {
		writer_u8(out, 0x8c); /* SHORT_BINUNICODE */
		writer_u8(out, (uint8_t)size);
	} else {
		writer_u8(out, 'X'); /* BINUNICODE */
		writer_le32(out, (uint32_t)size);
	}
	writer_string(out, text);
	writer_u8(out, 0x94); /* MEMOIZE */
}

static void put_field(struct writer *out, const char *key, const char *value,
		      const char *otherwise)
{
	put_text(out, key);
	put_text(out, value ? value : otherwise);
}

/* A new object, with a dict and a mark for its fields. */
static void put_object(struct writer *out, const char *module, const char *name)
{
	put_text(out, module ? module : SAMPLE_MODULE);
	put_text(out, name);
	writer_put(out, "\x93\x94)\x81\x94}\x94(", 8);
}

static void put_meta(struct writer *out, const struct sample_pickle *sample)
{
	put_object(out, sample->module, "ModelCacheMeta");
	put_field(out, "name", sample->name, "f(x)");
	put_field(out, "date", NULL, "2026-01-01");
	put_field(out, "version", sample->version, "1.0.5");
	writer_put(out, "ub", 2);
}

static void put_fx(struct writer *out, const struct sample_pickle *sample)
{
	put_object(out, sample->module, "CompiledFX");
	put_field(out, "signature", sample->signature, "graph");
	put_field(out, "py_code", sample->py_code, "pass\n");
	put_text(out, "input_parameters");
	writer_put(out, "]\x94(", 3);
	put_text(out, "x");
	writer_put(out, "\x88\x86\x94", 3);
	put_text(out, "y");
	writer_put(out,
		   "\x89\x86\x94"
		   "e",
		   4);
	writer_put(out, "ub", 2);
}

struct writer sample_pickle(const struct sample_pickle *sample)
{
	const void *code = sample->compiled_fn;
	struct writer out = writer_upto(FILE_LIMIT);

	writer_put(&out, "\x80\4", 2);
	put_object(&out, sample->module, "ModelCacheArtifact");
	put_text(&out, "meta");
	put_meta(&out, sample);
	put_text(&out, "compiled_fn");
	writer_u8(&out, 'B'); /* BINBYTES */
	writer_le32(&out, code ? (uint32_t)sample->compiled_fn_size : 4);
	writer_put(&out, code ? code : "code",
		   code ? sample->compiled_fn_size : 4);
	put_text(&out, "compiled_fx");
	put_fx(&out, sample);
	writer_put(&out, "ub.", 3);
	return out;
}
