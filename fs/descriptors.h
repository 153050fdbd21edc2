/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_DESCRIPTORS_H
#define TACFS_FS_DESCRIPTORS_H

/*
 * How the descriptors that the process may have (RLIMIT_NOFILE) are shared out,
 * so that no number of open files, directories or packs takes those that are
 * needed to go on. What is left over is for requests under way.
 */

#include <stddef.h>

enum descriptors {
	DESCRIPTORS_PACKS, /* kept open, since they may be used again */
	DESCRIPTORS_HELD,  /* packs, with those of versions that are open */
	DESCRIPTORS_DIRECTORIES, /* that the kernel knows */
	DESCRIPTORS_LOCKS,	 /* on directories in use */
	DESCRIPTORS_WORK	 /* content that is being written */
};

/* At least 4. */
size_t descriptors_for(enum descriptors use);

#endif
