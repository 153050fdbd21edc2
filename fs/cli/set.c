/* SPDX-License-Identifier: Apache-2.0 */
#include <inttypes.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/limit.h"
#include "fs/size.h"
#include "fs/store/create.h"

static const char limit_key[] = "max-bytes=";

int limit_parse(const char *command, const char *text, uint64_t *max_bytes)
{
	if (size_parse(text, max_bytes) == 0)
		return CLI_OK;
	return cli_usage(command, "'%s' is not a size, such as 512M or 10G",
			 text);
}

static int open_store(const char *command, const char *path,
		      struct store **store)
{
	const struct store_config config = { .create = false };

	return cli_open_store(command, path, &config, store);
}

int limit_set(const char *command, const char *path, uint64_t max_bytes)
{
	char why[256] = "";
	struct store *store;
	int status = open_store(command, path, &store);

	if (status)
		return status;
	if (store_set_max_bytes(store, max_bytes, why, sizeof(why)))
		status = cli_fail_why(command, path, why);
	store_close(store);
	return status;
}

static int print_all(const char *path)
{
	struct store *store;
	int status = open_store("set", path, &store);

	if (status)
		return status;
	printf("%s%" PRIu64 "\n", limit_key, store_max_bytes(store));
	store_close(store);
	return cli_end_output("set");
}

static int run(int argc, char **argv)
{
	size_t key = sizeof(limit_key) - 1;
	uint64_t max_bytes;
	int status;

	if (argc >= 2 && argv[1][0] == '-')
		return cli_usage("set", "bad option '%s'", argv[1]);
	if (argc == 2)
		return print_all(argv[1]);
	if (argc != 3)
		return cli_usage("set", "STORE and one SETTING are needed");
	if (strncmp(argv[2], limit_key, key) != 0)
		return cli_usage("set", "there is no setting '%s'", argv[2]);
	status = limit_parse("set", argv[2] + key, &max_bytes);
	return status ? status : limit_set("set", argv[1], max_bytes);
}

const struct command command_set = {
	.name = "set",
	.summary = "show or change the settings of a store",
	.help = "usage: tacfs set STORE [SETTING]\n"
		"\n"
		"Writes the settings of STORE, or changes one. Only the owner "
		"of a\n"
		"shared store may.\n"
		"\n"
		"  max-bytes=SIZE  the most it should take: 512M, 10G, 2T; 0 "
		"for\n"
		"                  no limit. Mounts learn it when they start\n",
	.run = run,
};
