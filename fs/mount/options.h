/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_MOUNT_OPTIONS_H
#define TACFS_FS_MOUNT_OPTIONS_H

/*
 * What `tacfs mount STORE MOUNTPOINT [-f] [-d] [-o OPTION[,OPTION...]]` asks
 * for.
 */

#include <stdbool.h>
#include <stdint.h>
#include <sys/types.h>

#include "fs/mount/trust.h"
#include "fs/share.h"

struct fuse_args;

/* Stands for the namespace that `tacfs fingerprint` prints. */
#define MOUNT_SPACE_AUTO "auto"

struct mount_options {
	char *store;
	char *mountpoint;
	char *space; /* namespace=, MOUNT_SPACE_AUTO among them; or NULL */
	bool read_only;
	bool private_deletes; /* deletes=private */
	bool strict;	      /* strict: what is foreign is not served */
	bool drops_when_full; /* on_full=drop */
	bool foreground;
	bool auto_unmount;
	bool log_all; /* without limits */
	bool debug;   /* libfuse's, every request */
	uid_t uid;    /* the owner that is shown: uid=, or the mounting user */
	gid_t gid;
	unsigned collect;   /* seconds between collections; 0: never */
	struct trust trust; /* trust= */
	bool has_max_bytes; /* max_bytes= */
	uint64_t max_bytes;
	struct share min_free; /* min_free= */
};

/*
 * Parses the command's arguments after its name. What is FUSE's own stays in
 * `args`, which fuse_opt_free_args() frees. Returns 0; -EINVAL with a line in
 * `why` when an argument is wrong; -ENOMEM.
 */
int mount_options_parse(int argc, char **argv, struct mount_options *o,
			struct fuse_args *args, char *why, size_t why_size);
void mount_options_free(struct mount_options *o);

#endif
