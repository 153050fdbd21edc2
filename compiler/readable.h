/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_READABLE_H
#define TACFS_COMPILER_READABLE_H

/*
 * The text that TorchAir's readable_cache() writes of a compiled_module: the
 * metadata, the signature and the disassembly as comments, then the generated
 * code. See cpython's Lib/dis.py for the layout of the disassembly.
 */

#include <stddef.h>

#include "codec/writer.h"
#include "compiler/fault.h"

enum {
	/* Raise it when any input's rendering changes: manifests keep sizes. */
	READABLE_REVISION = 1,
	READABLE_MAX = 256 * 1024 * 1024 /* bytes of text */
};

/*
 * Renders any bytes. Of a sound compiled_module the text is exactly
 * readable_cache()'s; of anything else it is comments that say what is wrong
 * and at which offset, followed by what could be decoded. The text is the same
 * for the same bytes, always. Returns 0, -ENOMEM or -EFBIG; on failure `out`
 * has no promise about its content.
 */
int readable_render(const void *bytes, size_t size, struct writer *out);

/*
 * The same of a sound compiled_module; of anything else nothing. Returns 0;
 * -EBADMSG, -ENOTSUP or -E2BIG, with *fault set; -ENOMEM; -EFBIG.
 */
int readable_render_exact(const void *bytes, size_t size, struct writer *out,
			  struct fault *fault);

#endif
