/* SPDX-License-Identifier: Apache-2.0 */
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>
#include <string.h>

#include "fs/cli/cli.h"

static const struct command *const commands[] = {
	&command_init, &command_mount,	&command_set,
	&command_show, &command_stats,	&command_gc,
	&command_pin,  &command_unpin,	&command_undelete,
	&command_fsck, &command_doctor, &command_fingerprint,
	NULL,
};

static const struct command *find_command(const char *name)
{
	for (const struct command *const *c = commands; *c; c++)
		if (strcmp((*c)->name, name) == 0)
			return *c;
	return NULL;
}

static void print_help(FILE *to)
{
	fputs("usage: tacfs COMMAND [ARGUMENT...]\n"
	      "       tacfs --version | --help | COMMAND --help\n"
	      "\n"
	      "A file system for TorchAir compile caches.\n"
	      "\n",
	      to);
	for (const struct command *const *c = commands; *c; c++)
		fprintf(to, "  %-11s %s\n", (*c)->name, (*c)->summary);
}

static bool asks_for_help(int argc, char **argv)
{
	for (int i = 1; i < argc && strcmp(argv[i], "--") != 0; i++)
		if (strcmp(argv[i], "--help") == 0)
			return true;
	return false;
}

static int run_command(int argc, char **argv)
{
	const struct command *command = find_command(argv[0]);

	if (!command) {
		fprintf(stderr,
			"tacfs: there is no command '%s'\n"
			"Try 'tacfs --help'.\n",
			argv[0]);
		return CLI_USAGE;
	}
	if (asks_for_help(argc, argv)) {
		fputs(command->help, stdout);
		return cli_end_output(command->name);
	}
	return command->run(argc, argv);
}

int main(int argc, char **argv)
{
	if (argc < 2) {
		print_help(stderr);
		return CLI_USAGE;
	}
	if (strcmp(argv[1], "--version") == 0) {
		puts("tacfs " TACFS_VERSION);
		return cli_end_output("--version");
	}
	if (strcmp(argv[1], "--help") == 0 || strcmp(argv[1], "-h") == 0) {
		print_help(stdout);
		return cli_end_output("--help");
	}
	return run_command(argc - 1, argv + 1);
}
