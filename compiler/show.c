/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/show.h"

#include <errno.h>

#include "compiler/budget.h"
#include "compiler/compiled_module.h"
#include "compiler/pickle_stream.h"
#include "compiler/python/dis.h"

struct subject {
	const uint8_t *bytes; /* the input */
	size_t size;
	struct text code;
	unsigned protocol; /* 0 when the code is bare */
	struct arena arena;
	struct found found;
};

static int find_code(struct subject *s, struct fault *fault)
{
	struct compiled_module module;
	int err;

	s->code = (struct text){ s->bytes, s->size };
	if (!s->size || s->bytes[0] != PICKLE_PROTO)
		return 0;
	err = compiled_module_read(s->bytes, s->size, &module, fault);
	if (err)
		return err;
	s->code = module.compiled_fn;
	s->protocol = module.protocol;
	return 0;
}

static int find_python(struct subject *s, const struct python *given,
		       struct fault *fault)
{
	int err = find_code(s, fault);

	if (err)
		return err;
	if (given)
		err = detect_given(s->code.bytes, s->code.size, given,
				   &s->arena, &s->found, fault);
	else
		err = detect_python(s->code.bytes, s->code.size, s->protocol,
				    &s->arena, &s->found, fault);
	if (err)
		fault->where += (size_t)(s->code.bytes - s->bytes);
	/* The file is whole; what it holds is of an unknown kind. */
	return err == -EBADMSG && s->protocol ? -ENOTSUP : err;
}

static int write_dis(struct subject *s, struct writer *out, struct fault *fault)
{
	const struct dis_options options = {
		.mode = PROGRAM_STRICT,
		.user_classes = s->protocol != 0,
		.start = s->bytes,
		.work = budget_work(s->size),
	};
	size_t limit = out->limit, allowed = out->size + budget_text(s->size);
	int err;

	if (allowed < limit)
		out->limit = allowed;
	err = dis_write(out, s->found.python, &s->found.marshal, &s->arena,
			&options, fault);
	out->limit = limit;
	return err;
}

static struct subject subject_of(const void *bytes, size_t size)
{
	return (struct subject){
		.bytes = bytes,
		.size = size,
		.arena = arena_upto(budget_memory(size)),
	};
}

int show_dis(const void *bytes, size_t size, const struct python *python,
	     struct writer *out, struct fault *fault)
{
	struct subject s = subject_of(bytes, size);
	int err = find_python(&s, python, fault);

	if (!err)
		err = write_dis(&s, out, fault);
	arena_free(&s.arena);
	return err;
}

int show_detect(const void *bytes, size_t size, const struct python **python,
		struct fault *fault)
{
	struct subject s = subject_of(bytes, size);
	int err = find_python(&s, NULL, fault);

	if (!err)
		*python = s.found.python;
	arena_free(&s.arena);
	return err;
}
