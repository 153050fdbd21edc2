/* SPDX-License-Identifier: Apache-2.0 */
#ifndef TACFS_FS_CLI_CLI_H
#define TACFS_FS_CLI_CLI_H

/*
 * The subcommands of `tacfs`, and how they speak. A command gets its own name
 * as argv[0], reports its failure once on standard error, and returns one of
 * the statuses. `--help` never reaches it.
 */

#include <stdio.h>

#include "fs/store/store.h"

/* show has more of them: see check.h. CLI_USAGE is EX_USAGE of sysexits.h. */
enum cli_status { CLI_OK = 0, CLI_FAILURE = 1, CLI_USAGE = 64 };

struct command {
	const char *name;
	const char *summary; /* one line */
	const char *help;    /* lines of text */
	int (*run)(int argc, char **argv);
};

extern const struct command command_doctor;
extern const struct command command_fingerprint;
extern const struct command command_fsck;
extern const struct command command_gc;
extern const struct command command_init;
extern const struct command command_mount;
extern const struct command command_set;
extern const struct command command_pin;
extern const struct command command_show;
extern const struct command command_stats;
extern const struct command command_undelete;
extern const struct command command_unpin;

/* "tacfs: COMMAND: SUBJECT: reason". Returns CLI_FAILURE. */
int cli_fail(const char *command, const char *subject, int err);
int cli_fail_why(const char *command, const char *subject, const char *why);

/*
 * Opens a store to change it. Returns CLI_OK, or fails, also when nothing can
 * be written there.
 */
int cli_open_store(const char *command, const char *path,
		   const struct store_config *config, struct store **store);

/* "tacfs: COMMAND: problem" and where help is. Returns CLI_USAGE. */
int cli_usage(const char *command, const char *format, ...)
	__attribute__((format(printf, 2, 3)));

/* The first value for options that have no letter. */
enum { CLI_LONG_ONLY = 256 };

/* For getopt_long's '?', with opterr 0: names the option. Returns CLI_USAGE. */
int cli_bad_option(char *const *argv);

/* Flushes standard output. Returns CLI_OK, or fails when it was not written. */
int cli_end_output(const char *command);

#endif
