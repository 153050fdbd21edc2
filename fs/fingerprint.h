/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_FINGERPRINT_H
#define TACFS_FS_FINGERPRINT_H

/*
 * What a compile cache depends on, as far as the host shows it: the versions of
 * CANN, Python, torch and what belongs to it, and the machine. It is read from
 * the names and the contents of files; nothing is imported.
 */

#include <stddef.h>

enum fingerprint_key {
	FINGERPRINT_CANN,
	FINGERPRINT_PYTHON,
	FINGERPRINT_TORCH,
	FINGERPRINT_TORCH_NPU,
	FINGERPRINT_TORCHAIR,
	FINGERPRINT_NPUGRAPH_EX,
	FINGERPRINT_MACHINE,
	FINGERPRINT_COUNT
};

enum {
	FINGERPRINT_VALUE_SIZE = 31, /* longer versions are cut */
	FINGERPRINT_NAME_SIZE = 256
};

struct fingerprint_part {
	/* empty when not found; [A-Za-z0-9._+] only */
	char value[FINGERPRINT_VALUE_SIZE];
	char *place; /* the file that told; NULL for the machine */
};

struct fingerprint {
	struct fingerprint_part parts[FINGERPRINT_COUNT];
};

/*
 * Looks at the host, or at the tree below `root` as if that were its root; NULL
 * for the host. Where to look is also said by the environment:
 * ASCEND_HOME_PATH, ASCEND_TOOLKIT_HOME, PATH, PYTHONPATH, HOME.
 *
 * A python3 whose version does not follow from its name is run and asked, but
 * only on the host itself. Returns 0, or a negative errno when `root` cannot be
 * opened or memory runs out: what is not found is no failure.
 */
int fingerprint_find(const char *root, struct fingerprint *f);
void fingerprint_free(struct fingerprint *f);

/* "cann", "python", "torch", … */
const char *fingerprint_key_name(enum fingerprint_key key);

/*
 * One name for all of it, as `cann8.1.RC1-py3.11-torch2.6.0-aarch64`: a file
 * name, and the same as long as the parts are.
 */
void fingerprint_name(const struct fingerprint *f,
		      char name[FINGERPRINT_NAME_SIZE]);

#endif
