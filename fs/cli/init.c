/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <grp.h>
#include <stdlib.h>
#include <string.h>
#include <sys/stat.h>
#include <unistd.h>

#include "fs/cli/cli.h"
#include "fs/cli/limit.h"
#include "fs/store/create.h"

enum { OPTION_SHARED = CLI_LONG_ONLY, OPTION_MAX_BYTES };

struct request {
	struct store_plan plan;
	const char *max_bytes; /* NULL: no limit */
};

static int take_group(const char *text, struct store_plan *plan)
{
	const struct group *group;
	unsigned long number;
	char *end;

	plan->shared = true;
	plan->group = getegid();
	if (!text)
		return CLI_OK;
	group = getgrnam(text);
	if (group) {
		plan->group = group->gr_gid;
		return CLI_OK;
	}
	errno = 0;
	number = strtoul(text, &end, 10);
	if (errno || text[0] < '0' || text[0] > '9' || *end ||
	    number >= (gid_t)-1)
		return cli_usage("init", "there is no group '%s'", text);
	plan->group = (gid_t)number;
	return CLI_OK;
}

static int take_options(int argc, char **argv, struct request *r)
{
	static const struct option options[] = {
		{ "shared", optional_argument, NULL, OPTION_SHARED },
		{ "max-bytes", required_argument, NULL, OPTION_MAX_BYTES },
		{ NULL, 0, NULL, 0 },
	};
	int status = CLI_OK;
	int c;

	opterr = 0;
	while (!status && (c = getopt_long(argc, argv, "", options, NULL)) > 0)
		if (c == OPTION_SHARED)
			status = take_group(optarg, &r->plan);
		else if (c == OPTION_MAX_BYTES)
			r->max_bytes = optarg;
		else
			status = cli_bad_option(argv);
	if (!status && argc - optind != 1)
		status = cli_usage("init", "one STORE is needed");
	return status;
}

static int run(int argc, char **argv)
{
	struct request r = { .max_bytes = NULL };
	uint64_t max_bytes = 0;
	char why[256] = "";
	int status = take_options(argc, argv, &r);

	if (!status && r.max_bytes)
		status = limit_parse("init", r.max_bytes, &max_bytes);
	if (status)
		return status;
	umask(umask(0) & 077U); /* what we make is ours to look into */
	if (store_create(argv[optind], &r.plan, why, sizeof(why)))
		return cli_fail_why("init", argv[optind], why);
	if (r.max_bytes)
		return limit_set("init", argv[optind], max_bytes);
	return CLI_OK;
}

const struct command command_init = {
	.name = "init",
	.summary = "make a store",
	.help = "usage: tacfs init [--shared[=GROUP]] [--max-bytes=SIZE] "
		"STORE\n"
		"\n"
		"Makes the store STORE in a directory that is missing or "
		"empty.\n"
		"A mount does that, too, but for one user and without a "
		"limit.\n"
		"\n"
		"  --shared[=GROUP]  for several users: the members of GROUP,\n"
		"                    or of your own group. Each is served "
		"what\n"
		"                    that user or root published, and with\n"
		"                    mount -o trust=USER what USER did\n"
		"  --max-bytes=SIZE  the most it should take: 512M, 10G, 2T.\n"
		"                    'tacfs set' changes it\n",
	.run = run,
};
