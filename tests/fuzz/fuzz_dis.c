/* SPDX-License-Identifier: Apache-2.0 */
/*
 * A recipe of a code object: what it makes is never damaged, whatever its
 * bytecode says. Shown twice it is the same; and if the Python it was made for
 * can show it, one is found that may have written it.
 */
#include <errno.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/show.h"
#include "tests/fuzz/code_recipe.h"

enum { CODE_MAX = 1 << 15, TEXT_MAX = 1 << 18 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static bool is_limit(int err)
{
	return err == -EFBIG || err == -E2BIG || err == -ENOMEM;
}

static int show(const struct writer *code, const struct python *python,
		struct writer *text)
{
	struct fault fault = { 0 };
	int err;

	*text = writer_upto(TEXT_MAX);
	err = show_dis(code->bytes, code->size, python, text, &fault);
	if (!err && (!text->size || text->bytes[text->size - 1] != '\n'))
		abort();
	if (err && (!fault.why || (err != -ENOTSUP && !is_limit(err))))
		abort();
	return err;
}

static bool equals(const struct writer *a, const struct writer *b)
{
	return a->size == b->size && memcmp(a->bytes, b->bytes, a->size) == 0;
}

static int show_twice(const struct writer *code, const struct python *python,
		      struct writer *text)
{
	struct writer again;
	int err = show(code, python, text);

	if (show(code, python, &again) != err ||
	    (!err && !equals(text, &again)))
		abort();
	writer_free(&again);
	return err;
}

static void try(const struct writer *code, const struct python *python)
{
	const struct python *found = NULL;
	struct writer forced, detected;
	struct fault fault = { 0 };
	int forced_err = show_twice(code, python, &forced);
	int detected_err = show(code, NULL, &detected);
	int err = show_detect(code->bytes, code->size, &found, &fault);

	if (err && !fault.why)
		abort();
	if (!forced_err && err && !is_limit(err))
		abort();
	if (err ? detected_err != err : detected_err && !is_limit(detected_err))
		abort();
	if (found == python && (forced_err != detected_err ||
				(!detected_err && !equals(&forced, &detected))))
		abort();
	writer_free(&forced);
	writer_free(&detected);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct reader recipe = reader_over(data, size);
	struct writer code = writer_upto(CODE_MAX);
	size_t python = code_recipe_write(&recipe, &code);

	if (!code.err)
		try(&code, python_at(python));
	writer_free(&code);
	return 0;
}
