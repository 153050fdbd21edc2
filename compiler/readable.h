/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_READABLE_H
#define TACFS_COMPILER_READABLE_H

/*
 * The text that TorchAir's readable_cache() writes of a compiled_module: the
 * metadata, the signature and the disassembly as comments, then the generated
 * code. See cpython's Lib/dis.py for the layout of the disassembly.
 */

#include <stdbool.h>
#include <stddef.h>

#include "codec/writer.h"
#include "compiler/artifact.h"
#include "compiler/python/python.h"

enum {
	/* Raise it when any input's rendering changes: manifests keep sizes. */
	READABLE_REVISION = 2,
	READABLE_MAX = 256 * 1024 * 1024 /* bytes of text */
};

/* What is to be known of a text besides. */
struct reading {
	struct verdict verdict;	     /* compiled_module_judge()'s */
	const struct python *python; /* that wrote the code; NULL: unknown */
	bool is_cut;		     /* the text was longer than allowed */
};

/*
 * Renders any bytes. Of a sound compiled_module the text is exactly
 * readable_cache()'s; of anything else it is comments that say what is wrong
 * and at which offset, followed by what could be decoded. Text beyond
 * budget_text(), or the writer's limit if that is less, is cut, and the text
 * says so. It is the same for the same bytes, always.
 *
 * Returns 0; -ENOMEM; -EFBIG when the writer's limit is less than some notes
 * need. On failure `out` has no promise about its content.
 */
int readable_render(const void *bytes, size_t size, struct writer *out);

/*
 * The same for code of this Python, instead of the one that wrote it, unless it
 * is NULL; and says what else there is to know.
 */
int readable_render_as(const void *bytes, size_t size,
		       const struct python *python, struct writer *out,
		       struct reading *reading);

#endif
