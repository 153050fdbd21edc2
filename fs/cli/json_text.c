/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/json_text.h"

#include <stdint.h>

#include "codec/writer.h"
#include "compiler/utf8.h"
#include "fs/cli/check.h"

json_t *json_text(const void *bytes, size_t size)
{
	AUTO_WRITER struct writer out = writer_upto(SIZE_MAX);
	const uint8_t *at = bytes;

	while (size) {
		uint32_t point;
		size_t next = utf8_next(at, size, &point);

		if (next)
			utf8_put(&out, (struct text){ at, next });
		else
			writer_string(&out, "\xef\xbf\xbd");
		at += next ? next : 1;
		size -= next ? next : 1;
	}
	if (out.err)
		return NULL;
	return json_stringn(out.size ? (const char *)out.bytes : "", out.size);
}
