/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_PYTHON_PYTHON_H
#define TACFS_COMPILER_PYTHON_PYTHON_H

/*
 * What differs between the versions of CPython that write caches, as tables:
 * their opcodes and the words that dis prints for arguments (Lib/opcode.py,
 * Lib/dis.py, Python/compile.c of 3.8 to 3.14).
 */

#include <stddef.h>
#include <stdint.h>

#include "compiler/python/printable.h"
#include "compiler/python/value.h"

enum { PYTHON_COUNT = 7 };

/* What an argument means, and so what dis says about it. */
enum form {
	FORM_NONE, /* there is no argument */
	FORM_RAW,  /* a number, and no more to say */
	FORM_CONST,
	FORM_NAME,
	FORM_NAME_GLOBAL, /* bit 0: push NULL too; the rest is the name */
	FORM_NAME_ATTR,	  /* bit 0: a method's load; the rest is the name */
	FORM_NAME_SUPER,  /* the same, but two bits before the name */
	FORM_LOCAL,
	FORM_LOCAL2, /* two locals of four bits each */
	FORM_FREE,   /* cells and free variables */
	FORM_JREL,   /* jumps forward from the next instruction */
	FORM_JBACK,
	FORM_JABS,
	FORM_JFROM, /* END_ASYNC_FOR: where the loop comes from */
	FORM_COMPARE,
	FORM_FORMAT,  /* FORMAT_VALUE */
	FORM_CONVERT, /* CONVERT_VALUE */
	FORM_MAKEFN,  /* bits of what a function is made with */
	FORM_SETFN,   /* one of those bits */
	FORM_BINOP,
	FORM_INTR1,
	FORM_INTR2,
	FORM_COMMON,
	FORM_SPECIAL,
	FORM_IS,
	FORM_IN
};

/* Opcodes that telling the versions apart has to know by name. */
enum op_role {
	ROLE_PLAIN,
	ROLE_EXTENDED_ARG,
	ROLE_RESUME,
	ROLE_PROLOGUE,	/* what may come before RESUME */
	ROLE_UNCLEARED, /* 3.10 leaves an argument though it has none */
	ROLE_PRECALL,
	ROLE_CALL,
	ROLE_LOAD_CONST,
	ROLE_RETURN_VALUE,
	ROLE_RERAISE,
	ROLE_BACKWARD_IF_NONE /* POP_JUMP_BACKWARD_IF_[NOT_]NONE */
};

struct opcode {
	const char *name; /* NULL: nothing that is stored has this number */
	uint32_t least;	  /* of the argument */
	uint32_t most;
	uint8_t form;	/* enum form */
	uint8_t role;	/* enum op_role */
	uint8_t caches; /* units of inline cache after it */
};

struct words {
	const char *const *at;
	size_t count;
};

struct python {
	const char *name; /* "3.8" */
	unsigned minor;
	enum code_layout layout;
	enum unicode unicode;
	const struct opcode *opcodes; /* 256 */
	unsigned compare_shift;	      /* COMPARE_OP's bits below the operator */
	struct words compare;
	struct words binop;
	struct words intrinsic1;
	struct words intrinsic2;
	struct words special;
	struct words common;
	struct words function;
	struct words convert;
};

/* By age, 3.8 first; `index` is below PYTHON_COUNT. */
const struct python *python_at(size_t index);
/* "3.8" to "3.14"; NULL for any other name. */
const struct python *python_named(const char *name);

#endif
