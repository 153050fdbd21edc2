/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_SHOW_H
#define TACFS_COMPILER_SHOW_H

/*
 * What a code object is, all or nothing. It is given bare, as marshal writes
 * it, or as the compiled_fn of a compiled_module: the first byte tells.
 */

#include <stddef.h>

#include "codec/writer.h"
#include "compiler/fault.h"
#include "compiler/python/python.h"

/*
 * Both return 0; -EBADMSG when the bytes are damaged or not what they should
 * be; -ENOTSUP when no known Python, or not `python`, wrote the code; -EFBIG
 * when the text is longer than budget_text() or the writer's limit; -E2BIG when
 * it would cost more than allowed otherwise; -ENOMEM. On failure *fault says
 * why, and `out` has no promise about its content.
 */

/* The disassembly; `python` is NULL when the bytes are to tell the Python. */
int show_dis(const void *bytes, size_t size, const struct python *python,
	     struct writer *out, struct fault *fault);

/* The Python that wrote it. */
int show_detect(const void *bytes, size_t size, const struct python **python,
		struct fault *fault);

#endif
