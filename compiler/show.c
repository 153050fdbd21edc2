/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/show.h"

#include <errno.h>

#include "compiler/compiled_module.h"
#include "compiler/python/dis.h"
#include "compiler/readable.h"

int show_dis(const void *bytes, size_t size, const struct python *python,
	     struct writer *out, struct fault *fault)
{
	static const struct dis_options options = { .user_classes = false };
	struct arena arena = arena_upto(MARSHAL_MEMORY_MAX);
	struct found found;
	int err;

	if (python)
		err = detect_given(bytes, size, python, &arena, &found, fault);
	else
		err = detect_python(bytes, size, 0, &arena, &found, fault);
	if (!err) {
		*fault = (struct fault){ "it is too much to show", 0 };
		err = dis_write(out, found.python, &found.marshal, &arena,
				&options, &fault->why);
	}
	arena_free(&arena);
	return err;
}

int show_detect(const void *bytes, size_t size, const struct python **python,
		struct fault *fault)
{
	struct arena arena = arena_upto(MARSHAL_MEMORY_MAX);
	struct found found;
	int err = detect_python(bytes, size, 0, &arena, &found, fault);

	if (!err)
		*python = found.python;
	arena_free(&arena);
	return err;
}

int show_readable(const void *bytes, size_t size, struct writer *out,
		  struct fault *fault)
{
	return readable_render_exact(bytes, size, out, fault);
}
