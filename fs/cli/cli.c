/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/cli/cli.h"

#include <errno.h>
#include <getopt.h>
#include <stdarg.h>
#include <string.h>

/* What a library's errno means to the person who typed the command. */
static const char *reason(int err)
{
	switch (-err) {
	case EBADMSG:
		return "it is damaged";
	case ENOTSUP:
		return "it is newer than this program";
	case E2BIG:
	case EFBIG:
		return "it is larger than this program accepts";
	default:
		return strerror(-err);
	}
}

int cli_fail(const char *command, const char *subject, int err)
{
	return cli_fail_why(command, subject, reason(err));
}

int cli_fail_why(const char *command, const char *subject, const char *why)
{
	fprintf(stderr, "tacfs: %s: %s: %s\n", command, subject, why);
	return CLI_FAILURE;
}

int cli_open_store(const char *command, const char *path,
		   const struct store_config *config, struct store **store)
{
	char why[512] = "";

	if (store_open(path, config, store, why, sizeof(why)))
		return cli_fail_why(command, path, why);
	if (!store_is_read_only(*store))
		return CLI_OK;
	store_close(*store);
	return cli_fail_why(command, path, "it cannot be written to");
}

int cli_usage(const char *command, const char *format, ...)
{
	va_list arguments;

	fprintf(stderr, "tacfs: %s: ", command);
	va_start(arguments, format);
	vfprintf(stderr, format, arguments);
	va_end(arguments);
	fprintf(stderr, "\nTry 'tacfs %s --help'.\n", command);
	return CLI_USAGE;
}

int cli_bad_option(char *const *argv)
{
	if (optopt > 0 && optopt < CLI_LONG_ONLY)
		return cli_usage(argv[0], "bad option '-%c'", optopt);
	return cli_usage(argv[0], "bad option '%s'", argv[optind - 1]);
}

int cli_end_output(const char *command)
{
	if (fflush(stdout) || ferror(stdout))
		return cli_fail(command, "standard output",
				errno ? -errno : -EIO);
	return CLI_OK;
}
