/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_COMPILER_VERDICT_H
#define TACFS_COMPILER_VERDICT_H

/* How the judges of this layer write down what they find. */

#include "compiler/artifact.h"

void verdict_sound(struct verdict *verdict);
/* A reason that does not fit is cut; control characters become '?'. */
void verdict_set(struct verdict *verdict, enum soundness soundness,
		 size_t where, const char *format, ...)
	__attribute__((format(printf, 4, 5)));

#endif
