/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_COMPILED_MODULE_H
#define TACFS_COMPILER_COMPILED_MODULE_H

/* A compiled_module: what TorchAir's cache_compile() keeps of one function. */

#include <stdbool.h>
#include <stddef.h>

#include "codec/arena.h"
#include "compiler/artifact.h"
#include "compiler/python/detect.h"
#include "compiler/utf8.h"

/* Its parts, in the input. A part that is not there has no bytes (NULL). */
struct compiled_module {
	unsigned protocol;  /* of the pickle */
	const char *module; /* Python's, that the classes are from */
	struct text name;
	struct text date;
	struct text version;
	struct text compiled_fn; /* marshal */
	struct text signature;
	struct text py_code;
	size_t parameters; /* in input_parameters */
};

/*
 * Takes apart a whole compiled_module of any version. Returns 0; -EBADMSG when
 * it is damaged; -ENOTSUP when it is a whole pickle of something else; -ENOMEM.
 * On failure *fault says what and where, and *module is unchanged.
 */
int compiled_module_read(const void *bytes, size_t size,
			 struct compiled_module *module, struct fault *fault);

/*
 * Takes what can be recognised from any bytes, up to where they cease to be a
 * pickle. The last text may be cut off; then its beginning is given.
 */
void compiled_module_salvage(const void *bytes, size_t size,
			     struct compiled_module *module);

/* Whether the version is one that has been published: 1.0.0 to 1.0.6. */
bool compiled_module_is_known(const struct compiled_module *module);
/* What there is to say when it is not; `bytes` is the input. */
void compiled_module_unknown(const struct compiled_module *module,
			     const void *bytes, struct fault *fault);

/* SOUND is: whole, of a known version, and its code from a known Python. */
void compiled_module_judge(const void *bytes, size_t size,
			   struct verdict *verdict);

#endif
