/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_PROMETHEUS_H
#define TACFS_FS_CLI_PROMETHEUS_H

/*
 * The text exposition format of Prometheus, for node_exporter's textfile
 * collector. Every sample has a label that says what it is of.
 */

#include <stdio.h>

#include "fs/store/measure.h"
#include "fs/store/report.h"

/* Label `store`. `sum` is what its mounts have counted; NULL: not known. */
void prometheus_store(FILE *to, const char *path,
		      const struct store_measures *m, const struct report *sum);
/* Label `mount`: what one mount has counted. */
void prometheus_mount(FILE *to, const char *path, const struct counts *counts);

#endif
