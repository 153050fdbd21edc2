/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_STORE_PROBE_STATE_H
#define TACFS_FS_STORE_PROBE_STATE_H

/* For fs/store/probe*.c only. */

#include "fs/store/probe.h"

struct probe {
	const struct store *store;
	int dir; /* ours alone */
};

typedef void probe_run(const struct probe *p, struct ability *ability);

__attribute__((format(printf, 3, 4))) void
ability_set(struct ability *ability, enum grade grade, const char *format, ...);

/* A new file with one byte in it. The descriptor, or a negative errno. */
int probe_file(const struct probe *p, const char *name, char byte);

/* Of names. */
probe_run probe_write;
probe_run probe_exclusive;
probe_run probe_replace;
probe_run probe_exchange;
probe_run probe_noreplace;
probe_run probe_link;
probe_run probe_tmpfile;
probe_run probe_case;
probe_run probe_long_names;
probe_run probe_byte_names;
/* Of durability, locks and clocks. */
probe_run probe_fsync_file;
probe_run probe_fsync_dir;
probe_run probe_flock;
probe_run probe_granularity;
probe_run probe_clock;
/* Of where the store is. */
probe_run probe_type;
probe_run probe_space;
probe_run probe_inodes;
probe_run probe_ids;
probe_run probe_modes;

#endif
