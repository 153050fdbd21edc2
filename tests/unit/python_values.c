/* SPDX-License-Identifier: Apache-2.0 */
#include "tests/unit/python_values.h"

#include <string.h>

struct text sample_text(const char *letters)
{
	return (struct text){ (const uint8_t *)letters, strlen(letters) };
}

static void put_bytes(struct writer *out, const void *bytes, size_t size)
{
	writer_u8(out, 's');
	writer_le32(out, (uint32_t)size);
	writer_put(out, bytes, size);
}

static void put_str(struct writer *out, const char *letters)
{
	writer_u8(out, 'z');
	writer_u8(out, (uint8_t)strlen(letters));
	writer_string(out, letters);
}

static unsigned put_names(struct writer *out, const char *const *names)
{
	unsigned count = 0;

	while (count < 4 && names[count])
		count++;
	writer_u8(out, ')');
	writer_u8(out, (uint8_t)count);
	for (unsigned i = 0; i < count; i++)
		put_str(out, names[i]);
	return count;
}

static void put_locals(struct writer *out, const struct sample_code *code,
		       enum code_layout layout)
{
	unsigned count = put_names(out, code->locals);

	if (layout == LAYOUT_OLD) {
		writer_put(out, ")\0)\0", 4); /* free variables, cells */
		return;
	}
	writer_u8(out, 's');
	writer_le32(out, count);
	writer_fill(out, 0x20, count); /* plain locals */
}

void sample_code_write(struct writer *out, const struct sample_code *code,
		       enum code_layout layout)
{
	bool new = layout == LAYOUT_NEW;

	writer_u8(out, 'c');
	writer_fill(out, 0, new ? 16 : 20);
	writer_le32(out, code->flags);
	put_bytes(out, code->bytecode, code->bytecode_size);
	if (code->consts)
		writer_put(out, code->consts, code->consts_size);
	else
		writer_put(out, ")\1N", 3);
	put_names(out, code->names);
	put_locals(out, code, layout);
	put_str(out, "f.py");
	put_str(out, "f");
	if (new)
		put_str(out, "C.f");
	writer_le32(out, (uint32_t)code->first_line);
	put_bytes(out, code->lines, code->lines_size);
	if (new)
		put_bytes(out, code->exceptions, code->exceptions_size);
}
