/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_SHOW_H
#define TACFS_COMPILER_SHOW_H

/*
 * What `tacfs show` does to a file's bytes: all or nothing, while
 * readable_render() shows whatever there is to show.
 */

#include <stddef.h>

#include "codec/writer.h"
#include "compiler/fault.h"
#include "compiler/python/python.h"

enum { SHOW_MAX = 64 * 1024 * 1024 /* bytes of text that will do */ };

/*
 * All three return 0; -EBADMSG when the bytes are damaged or not what they
 * should be; -ENOTSUP when no known Python, or not `python`, wrote them;
 * -EFBIG when the writer's limit was met; -E2BIG; -ENOMEM. On failure *fault
 * says why, and `out` has no promise about its content.
 */

/*
 * The disassembly of a bare marshalled code object. `python` is NULL when the
 * Python is to be found from the bytes.
 */
int show_dis(const void *bytes, size_t size, const struct python *python,
	     struct writer *out, struct fault *fault);

/* The Python that wrote a bare marshalled code object. */
int show_detect(const void *bytes, size_t size, const struct python **python,
		struct fault *fault);

/* The text of readable_cache(), for a sound compiled_module only. */
int show_readable(const void *bytes, size_t size, struct writer *out,
		  struct fault *fault);

#endif
