/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/python/argument.h"

#include <inttypes.h>
#include <string.h>

#include "compiler/python/repr.h"

#define USER_CLASS "<user_class>"

enum { COMPARE_TO_BOOL = 16, FORMAT_CONVERSION = 3, FORMAT_SPEC = 4 };

/* Writes the class that a constant stands for, if it stands for one. */
static bool put_user_class(struct writer *out, const struct value *value)
{
	size_t prefix = strlen(USER_CLASS);
	struct text module, name;
	const uint8_t *bar;

	if (value->type != VALUE_STR || value->text.size < prefix ||
	    memcmp(value->text.bytes, USER_CLASS, prefix) != 0)
		return false;
	module.bytes = value->text.bytes + prefix;
	bar = memchr(module.bytes, '|', value->text.size - prefix);
	if (!bar)
		return false;
	module.size = (size_t)(bar - module.bytes);
	name.bytes = bar + 1;
	name.size = value->text.size - prefix - module.size - 1;
	if (memchr(name.bytes, '|', name.size))
		return false;
	writer_string(out, "<class '");
	if (!text_equals(module, "builtins")) {
		utf8_put(out, module);
		writer_u8(out, '.');
	}
	utf8_put(out, name);
	writer_string(out, "'>");
	return true;
}

static void put_const(struct writer *out, const struct python *python,
		      const struct value *value, bool user_classes)
{
	if (!user_classes || !put_user_class(out, value))
		repr_value(out, value, python->unicode);
}

static void put_name(struct writer *out, const struct items *names,
		     size_t index)
{
	utf8_put(out, names->at[index]->text);
}

/* A name and, when bit 0 of the argument is set, what is pushed beside it. */
static void put_pushing(struct writer *out, const struct python *python,
			const struct value *name, bool pushes, const char *what)
{
	bool marked = pushes && name->text.size;
	bool first = python->minor < 13;

	if (marked && first) {
		writer_string(out, what);
		writer_string(out, " + ");
	}
	utf8_put(out, name->text);
	if (marked && !first) {
		writer_string(out, " + ");
		writer_string(out, what);
	}
}

static void put_free(struct writer *out, const struct code *code, size_t index)
{
	if (code->cells.count + code->frees.count == 0)
		put_name(out, &code->locals, index);
	else if (index < code->cells.count)
		put_name(out, &code->cells, index);
	else
		put_name(out, &code->frees, index - code->cells.count);
}

/* Absolute jumps of 3.8 and 3.9 are numbers that say it all. */
static void put_jump(struct writer *out, const struct python *python,
		     const struct page *page,
		     const struct instruction *instruction)
{
	enum form form = program_opcode(python, instruction)->form;
	uint32_t target = program_target(python, &page->program, instruction);

	if (form == FORM_JABS && python->minor < 10)
		return;
	writer_string(out, form == FORM_JFROM ? "from " : "to ");
	if (python->minor < 13)
		writer_printf(out, "%" PRIu32, target);
	else
		writer_printf(out, "L%zu", page_label(page, target));
}

static void put_compare(struct writer *out, const struct python *python,
			uint32_t argument)
{
	bool to_bool = python->minor >= 13 && argument & COMPARE_TO_BOOL;

	if (to_bool)
		writer_string(out, "bool(");
	writer_string(out,
		      python->compare.at[argument >> python->compare_shift]);
	if (to_bool)
		writer_u8(out, ')');
}

static void put_format(struct writer *out, const struct python *python,
		       uint32_t argument)
{
	writer_string(out, python->convert.at[argument & FORMAT_CONVERSION]);
	if (!(argument & FORMAT_SPEC))
		return;
	if (argument & FORMAT_CONVERSION)
		writer_string(out, ", ");
	writer_string(out, "with format");
}

static void put_bits(struct writer *out, const struct words *words,
		     uint32_t argument)
{
	bool any = false;

	for (size_t i = 0; i < words->count; i++) {
		if (!(argument >> i & 1))
			continue;
		if (any)
			writer_string(out, ", ");
		writer_string(out, words->at[i]);
		any = true;
	}
}

static void put_word(struct writer *out, const struct python *python,
		     enum form form, uint32_t argument)
{
	if (form == FORM_CONVERT)
		writer_string(out, python->convert.at[argument]);
	else if (form == FORM_BINOP)
		writer_string(out, python->binop.at[argument]);
	else if (form == FORM_INTR1)
		writer_string(out, python->intrinsic1.at[argument]);
	else if (form == FORM_INTR2)
		writer_string(out, python->intrinsic2.at[argument]);
	else if (form == FORM_COMMON)
		writer_string(out, python->common.at[argument]);
	else if (form == FORM_SPECIAL)
		writer_string(out, python->special.at[argument]);
	else if (form == FORM_IS)
		writer_string(out, argument ? "is not" : "is");
	else if (form == FORM_IN)
		writer_string(out, argument ? "not in" : "in");
}

/* The forms that speak of names. */
static void put_named(struct writer *out, const struct python *python,
		      const struct code *code, enum form form, uint32_t a)
{
	const struct items *names = &code->names;

	if (form == FORM_NAME)
		put_name(out, names, a);
	else if (form == FORM_NAME_GLOBAL)
		put_pushing(out, python, names->at[a / 2], a & 1, "NULL");
	else if (form == FORM_NAME_ATTR)
		put_pushing(out, python, names->at[a / 2], a & 1, "NULL|self");
	else if (form == FORM_NAME_SUPER)
		put_pushing(out, python, names->at[a / 4], a & 1, "NULL|self");
	else if (form == FORM_LOCAL)
		put_name(out, &code->locals, a);
	else if (form == FORM_FREE)
		put_free(out, code, a);
	else if (form == FORM_LOCAL2) {
		put_name(out, &code->locals, a / 16);
		writer_string(out, ", ");
		put_name(out, &code->locals, a % 16);
	}
}

void argument_put(struct writer *out, const struct python *python,
		  const struct code *code, const struct page *page,
		  const struct instruction *instruction, bool user_classes)
{
	uint32_t a = instruction->argument;
	enum form form = program_opcode(python, instruction)->form;

	if (!instruction->is_sound)
		return;
	switch (form) {
	case FORM_NONE:
	case FORM_RAW:
		break;
	case FORM_CONST:
		put_const(out, python, code->consts.at[a], user_classes);
		break;
	case FORM_NAME:
	case FORM_NAME_GLOBAL:
	case FORM_NAME_ATTR:
	case FORM_NAME_SUPER:
	case FORM_LOCAL:
	case FORM_LOCAL2:
	case FORM_FREE:
		put_named(out, python, code, form, a);
		break;
	case FORM_JREL:
	case FORM_JBACK:
	case FORM_JABS:
	case FORM_JFROM:
		put_jump(out, python, page, instruction);
		break;
	case FORM_COMPARE:
		put_compare(out, python, a);
		break;
	case FORM_FORMAT:
		put_format(out, python, a);
		break;
	case FORM_MAKEFN:
	case FORM_SETFN:
		put_bits(out, &python->function, a);
		break;
	case FORM_CONVERT:
	case FORM_BINOP:
	case FORM_INTR1:
	case FORM_INTR2:
	case FORM_COMMON:
	case FORM_SPECIAL:
	case FORM_IS:
	case FORM_IN:
		put_word(out, python, form, a);
		break;
	}
}
