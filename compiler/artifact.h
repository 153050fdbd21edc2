/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_ARTIFACT_H
#define TACFS_COMPILER_ARTIFACT_H

/*
 * An artifact is a file that a compiler loads, or executes, as a whole: it is
 * shown to others only once it is complete. What it is follows from its name;
 * whether it is complete, from its bytes. Every other file is plain.
 */

#include <stddef.h>
#include <stdint.h>

/* The numbers are part of the manifest's format. */
enum artifact_kind {
	ARTIFACT_NONE = 0,
	ARTIFACT_COMPILED_MODULE = 1, /* compiled_module */
	ARTIFACT_OM = 2,	      /* *.om */
	ARTIFACT_INDEX = 3	      /* *.idx */
};

enum soundness {
	SOUND,
	FOREIGN, /* whole, but not what we know: other classes, newer formats */
	UNSOUND	 /* not whole */
};

struct verdict {
	enum soundness soundness;
	size_t where;	  /* the offset the reason speaks of */
	char reason[160]; /* one line; empty when SOUND */
};

/* From the last component of a path. */
enum artifact_kind artifact_kind_of(const char *name);
/* "compiled_module", "om", "index" or "plain". */
const char *artifact_kind_text(enum artifact_kind kind);

/*
 * Judges a whole file. Reads of an .om only its header and tables, so `bytes`
 * may be a mapping of a large file. ARTIFACT_NONE is always SOUND. Running out
 * of memory gives UNSOUND with a reason that says so.
 */
void artifact_judge(enum artifact_kind kind, const void *bytes, size_t size,
		    struct verdict *verdict);

#endif
