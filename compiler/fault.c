/* SPDX-License-Identifier: Apache-2.0 */
#include "compiler/fault.h"

#include "compiler/python/repr.h"

enum { NAME_SHOWN_MAX = 100 };

/* The beginning of a text, in whole characters. */
static struct text shorten(struct text text)
{
	struct text shown = { text.bytes, 0 };
	uint32_t point;
	size_t next;

	do {
		next = utf8_next(text.bytes + shown.size,
				 text.size - shown.size, &point);
		if (shown.size + next > NAME_SHOWN_MAX)
			break;
		shown.size += next;
	} while (next);
	return shown;
}

void fault_put(const struct fault *fault, struct writer *out)
{
	writer_string(out, fault->why);
	for (size_t i = 0; i < 2; i++) {
		if (!fault->names[i].bytes)
			continue;
		writer_string(out, i ? " " : ": ");
		repr_str(out, shorten(fault->names[i]), UNICODE_16_0);
	}
}
