/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_TESTS_PICKLES_H
#define TACFS_TESTS_PICKLES_H

/* Pickled compiled_modules made for tests. */

#include <stddef.h>

#include "codec/writer.h"

#define SAMPLE_MODULE "torchair.inference._cache_compiler"

/* NULL stands for something sensible. */
struct sample_pickle {
	const char *module;
	const char *name;
	const char *version;
	const char *signature;
	const char *py_code;
	const void *compiled_fn;
	size_t compiled_fn_size;
};

/* A whole file of protocol 4, to be freed. */
struct writer sample_pickle(const struct sample_pickle *sample);

#endif
