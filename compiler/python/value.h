/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_VALUE_H
#define TACFS_COMPILER_PYTHON_VALUE_H

/*
 * Python values as marshal holds them. They live in the decoder's arena and are
 * shared where the input shares them, so a small input may be a huge tree: walk
 * them against a limit. They are never cyclic.
 */

#include <stdbool.h>
#include <stdint.h>

#include "compiler/utf8.h"

enum value_type {
	VALUE_ATOM, /* None, numbers and so on: `text` is its repr */
	VALUE_STR,  /* `text` is valid UTF-8, surrogates allowed */
	VALUE_BYTES,
	VALUE_TUPLE,
	VALUE_LIST,
	VALUE_DICT, /* `items` are key, value, key, value, ... */
	VALUE_SET,
	VALUE_FROZENSET,
	VALUE_SLICE, /* `items` are start, stop, step */
	VALUE_CODE
};

/* Minor versions of Python 3, for values whose hash is the same everywhere. */
enum { HASH_ALWAYS = 0, HASH_NEVER = 255 };

/* Of the elements of `struct items`. */
enum { ITEM_SIZE = sizeof(void *) };

struct items {
	const struct value **at;
	size_t count;
};

struct value {
	enum value_type type;
	uint8_t hash_since; /* the first Python where `hash` holds */
	uint64_t hash;
	union {
		struct text text;
		struct items items;
		struct code *code;
	};
};

/* Where the fields of a code object stand: 3.8 to 3.10, and since 3.11. */
enum code_layout { LAYOUT_OLD, LAYOUT_NEW };

/* Lib/test/test_code.py and Objects/codeobject.c say what the fields mean. */
struct code {
	struct code *next;    /* of all code objects of one input, in order */
	const uint8_t *start; /* its first byte in the input */
	bool is_whole;	      /* all fields could be read; else some are zero */
	int32_t arguments;
	int32_t keyword_only;
	uint32_t flags;
	int32_t first_line;
	struct text bytecode;
	struct text filename;
	struct text name;
	struct text lines;	/* lnotab or linetable, undecoded */
	struct text exceptions; /* undecoded; empty in LAYOUT_OLD */
	struct text kinds;	/* of locals; empty in LAYOUT_OLD */
	struct items consts;
	struct items names;  /* each a str, like the next three */
	struct items locals; /* varnames, or localsplusnames */
	struct items cells;  /* the last two are empty in LAYOUT_NEW */
	struct items frees;
};

#endif
