/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PICKLE_H
#define TACFS_COMPILER_PICKLE_H

/*
 * The machine for the pickles that TorchAir and npugraph_ex write: the few
 * opcodes that occur there, and their three classes by name. Nothing is ever
 * imported or called; whatever else a pickle could ask for is refused, and so
 * is every value that has no place in one of the three (there are no cycles).
 */

#include <stdbool.h>
#include <stddef.h>

#include "codec/arena.h"
#include "compiler/fault.h"
#include "compiler/utf8.h"

enum { PICKLE_FIELDS = 3 };

enum pickle_type {
	PICKLED_MARK,
	PICKLED_STR, /* `text`, valid UTF-8 with surrogates allowed */
	PICKLED_BYTES,
	PICKLED_BOOL,
	PICKLED_EMPTY_TUPLE,
	PICKLED_PAIR, /* a str and a bool */
	PICKLED_LIST, /* of pairs */
	PICKLED_DICT, /* of fields; only on its way to a BUILD */
	PICKLED_CLASS,
	PICKLED_OBJECT
};

enum pickle_class {
	PICKLED_ARTIFACT, /* ModelCacheArtifact: meta, compiled_fn, compiled_fx
			   */
	PICKLED_META,	  /* ModelCacheMeta: name, date, version */
	PICKLED_FX	  /* CompiledFX: signature, py_code, input_parameters */
};

struct pickled {
	enum pickle_type type;
	union {
		bool flag;	  /* of a bool */
		struct text text; /* of a str or bytes */
		struct {
			struct text name;
			bool flag;
		} pair;
		struct {
			const struct pickled **items;
			size_t count;
			size_t capacity;
		} list;
		struct pickled_dict *dict;
		enum pickle_class class; /* of a class */
		struct {
			enum pickle_class class;
			bool built; /* has all its members */
			const struct pickled *members[PICKLE_FIELDS];
		} object;
	};
};

struct pickle {
	const struct pickled *artifact; /* of PICKLED_ARTIFACT, and built */
	unsigned protocol;
	const char *module; /* that the classes are from */
};

/*
 * Reads a pickled ModelCacheArtifact that fills the input. What is read points
 * into the input and the arena. Returns 0; -EBADMSG when it is anything else,
 * broken or foreign: pickle_scan() tells which; -E2BIG when it wants more than
 * the arena's limit; -ENOMEM. On failure *fault says what was refused.
 */
int pickle_read(const void *bytes, size_t size, struct arena *arena,
		struct pickle *pickle, struct fault *fault);

#endif
