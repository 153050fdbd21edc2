/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/json_text.h"
#include "fs/store/pins.h"

enum { OPTION_LIST = CLI_LONG_ONLY, OPTION_NAMESPACE, OPTION_JSON };

struct request {
	const char *command;
	const char *store;
	const char *path;
	const char *space;
	bool list;
	bool json;
};

static int compare(const void *a, const void *b)
{
	return strcmp(*(char *const *)a, *(char *const *)b);
}

static json_t *to_json(const char *place)
{
	const char *slash = strchrnul(place, '/');

	return json_pack("{s:o, s:o}", "namespace",
			 json_text(place, (size_t)(slash - place)), "path",
			 json_text(slash + (*slash == '/'),
				   strlen(slash + (*slash == '/'))));
}

static int print_json(const struct pins *pins)
{
	json_t *array = json_array();

	for (size_t i = 0; i < pins->count; i++)
		json_array_append_new(array, to_json(pins->places[i]));
	if (!array)
		return cli_fail("pin", "--json", -ENOMEM);
	json_dumpf(array, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(array);
	return cli_end_output("pin");
}

static int list(struct store *store, const struct request *r)
{
	struct pins pins = { 0 };
	int err = pins_load(store, &pins);
	int status = CLI_OK;

	if (err)
		return cli_fail("pin", r->store, err);
	if (pins.count)
		qsort(pins.places, pins.count, sizeof(*pins.places), compare);
	if (r->json)
		status = print_json(&pins);
	for (size_t i = 0; !r->json && i < pins.count; i++)
		puts(pins.places[i]);
	pins_free(&pins);
	return status ? status : cli_end_output("pin");
}

/* That it was so before is no failure. */
static int change(struct store *store, const struct request *r)
{
	bool pins = strcmp(r->command, "pin") == 0;
	int err = pins ? pins_add(store, r->path) : pins_remove(store, r->path);

	if (err == -EINVAL)
		return cli_fail_why(r->command, r->path,
				    "it is not a path in the namespace");
	if (err == -ENOENT && !pins)
		return cli_fail_why(r->command, r->path, "it is not pinned");
	if (err && err != -EEXIST)
		return cli_fail(r->command, r->path, err);
	return CLI_OK;
}

static int act(const struct request *r)
{
	const struct store_config config = { .create = false,
					     .read_only = r->list,
					     .space = r->space };
	struct store *store;
	char why[512] = "";
	int status;

	if (store_open(r->store, &config, &store, why, sizeof(why)))
		return cli_fail_why(r->command, r->store, why);
	if (r->list)
		status = list(store, r);
	else if (store_is_read_only(store))
		status = cli_fail(r->command, r->store, -EROFS);
	else
		status = change(store, r);
	store_close(store);
	return status;
}

static int take_arguments(struct request *r, int argc, char **argv)
{
	if (r->list && argc != 1)
		return cli_usage(r->command, "--list needs one STORE");
	if (!r->list && argc != 2)
		return cli_usage(r->command, "a STORE and a PATH are needed");
	r->store = argv[0];
	r->path = r->list ? NULL : argv[1];
	return act(r);
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "namespace", required_argument, NULL, OPTION_NAMESPACE },
		{ "list", no_argument, NULL, OPTION_LIST },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { .command = argv[0] };
	bool pins = strcmp(argv[0], "pin") == 0;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) > 0) {
		if (c == OPTION_NAMESPACE)
			r.space = optarg;
		else if (c == OPTION_LIST && pins)
			r.list = true;
		else if (c == OPTION_JSON && pins)
			r.json = true;
		else
			return cli_bad_option(argv);
	}
	return take_arguments(&r, argc - optind, argv + optind);
}

const struct command command_pin = {
	.name = "pin",
	.summary = "keep a path in a store from being evicted",
	.help = "usage: tacfs pin [--namespace=NAME] STORE PATH\n"
		"       tacfs pin --list [--json] STORE\n"
		"\n"
		"Nothing at or below PATH in the namespace is evicted from now "
		"on,\n"
		"whether it is there yet or not. / is all of it.\n"
		"\n"
		"  --namespace=NAME  the namespace, instead of 'default'\n"
		"  --list            print NAMESPACE/PATH of everything that "
		"is "
		"pinned\n"
		"  --json            as a JSON array\n",
	.run = run,
};

const struct command command_unpin = {
	.name = "unpin",
	.summary = "end what pin began",
	.help = "usage: tacfs unpin [--namespace=NAME] STORE PATH\n"
		"\n"
		"PATH may be evicted again, unless it is below another that is "
		"pinned.\n"
		"\n"
		"  --namespace=NAME  the namespace, instead of 'default'\n",
	.run = run,
};
