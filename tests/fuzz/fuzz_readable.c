/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes are shown, with the verdict that is given without showing them; the
 * text is the same each time, keeps within its limit, and is UTF-8 that starts
 * as a comment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/compiled_module.h"
#include "compiler/readable.h"
#include "compiler/utf8.h"

enum { TEXT_MAX = 1 << 20, TEXT_SMALL = 1 << 13 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void check_verdict(const uint8_t *data, size_t size,
			  const struct verdict *verdict)
{
	struct verdict judged;

	compiled_module_judge(data, size, &judged);
	if (judged.soundness != verdict->soundness ||
	    judged.where != verdict->where ||
	    strcmp(judged.reason, verdict->reason) != 0)
		abort();
}

static int render(const uint8_t *data, size_t size, struct writer *text)
{
	struct reading reading;
	int err = readable_render_as(data, size, NULL, text, &reading);

	if (err && err != -ENOMEM)
		abort();
	if (err)
		return err;
	if (text->size < 3 || memcmp(text->bytes, "# ", 2) != 0 ||
	    !utf8_valid(text->bytes, text->size))
		abort();
	check_verdict(data, size, &reading.verdict);
	return 0;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer first = writer_upto(TEXT_MAX);
	struct writer second = writer_upto(TEXT_MAX);
	struct writer small = writer_upto(TEXT_SMALL);

	if (render(data, size, &first) == 0 &&
	    render(data, size, &second) == 0 &&
	    (first.size != second.size ||
	     memcmp(first.bytes, second.bytes, first.size) != 0))
		abort();
	render(data, size, &small);
	writer_free(&first);
	writer_free(&second);
	writer_free(&small);
	return 0;
}
