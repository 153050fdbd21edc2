/* SPDX-License-Identifier: Apache-2.0 */
/*
 * Any bytes are shown; the text is the same each time, and is UTF-8 that
 * starts as a comment.
 */
#include <errno.h>
#include <stdlib.h>
#include <string.h>

#include "compiler/readable.h"
#include "compiler/utf8.h"

enum { TEXT_MAX = 1 << 20 };

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static int render(const uint8_t *data, size_t size, struct writer *text)
{
	int err = readable_render(data, size, text);

	if (err && err != -EFBIG && err != -ENOMEM)
		abort();
	return err;
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
	struct writer first = writer_upto(TEXT_MAX);
	struct writer second = writer_upto(TEXT_MAX);

	if (render(data, size, &first) == 0) {
		if (first.size < 3 || memcmp(first.bytes, "# ", 2) != 0 ||
		    !utf8_valid(first.bytes, first.size))
			abort();
		if (render(data, size, &second) != 0 ||
		    first.size != second.size ||
		    memcmp(first.bytes, second.bytes, first.size) != 0)
			abort();
	}
	writer_free(&first);
	writer_free(&second);
	return 0;
}
