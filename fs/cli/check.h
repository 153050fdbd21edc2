/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_CHECK_H
#define TACFS_FS_CLI_CHECK_H

/* Whether a compiled_module is sound, for people and for scripts. */

#include <stdbool.h>
#include <stddef.h>

#include "codec/writer.h"
#include "compiler/artifact.h"

/* The exit statuses of `tacfs show`. */
enum check_status {
	CHECK_SOUND = 0,
	CHECK_BROKEN = 1,
	CHECK_FOREIGN = 2,
	CHECK_TROUBLE = 3 /* it could not be read, or the output not written */
};

#define AUTO_WRITER __attribute__((cleanup(writer_free)))

/* An enum check_status. */
int check_status(enum soundness soundness);

/*
 * Judges a whole file, and prints one line or one JSON object. Returns an
 * enum check_status; what is trouble is reported.
 */
int check_print(const char *path, const void *bytes, size_t size, bool json);

#endif
