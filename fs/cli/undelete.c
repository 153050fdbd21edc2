/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/json_text.h"
#include "fs/store/trash.h"

enum { OPTION_DRY_RUN = CLI_LONG_ONLY, OPTION_NAMESPACE, OPTION_JSON };

struct request {
	const char *store;
	const char *path;
	const char *space;
	bool dry_run;
	bool json;
};

/* `context` is the array of paths for --json, or NULL. */
static void take_path(void *context, const char *path)
{
	if (!context)
		puts(path);
	else if (json_array_append_new(context, json_text(path, strlen(path))))
		errno = ENOMEM;
}

static int print_json(json_t *paths, size_t taken)
{
	json_t *object = json_pack("{s:O, s:I}", "paths", paths, "taken",
				   (json_int_t)taken);

	if (!object)
		return cli_fail("undelete", "--json", -ENOMEM);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return CLI_OK;
}

/* Slashes at the ends mean nothing. */
static char *trim(const char *path)
{
	char *trimmed = strdup(path + strspn(path, "/"));
	size_t size = trimmed ? strlen(trimmed) : 0;

	while (size && trimmed[size - 1] == '/')
		trimmed[--size] = '\0';
	return trimmed;
}

static int restore_path(struct store *store, const struct request *r,
			struct trash_restored *result)
{
	char *path = trim(r->path);
	int err = path ? trash_restore(store, path, result) : -ENOMEM;

	free(path);
	if (err == -ENOENT)
		return cli_fail_why("undelete", r->path,
				    "nothing was deleted there lately");
	if (err == -EINVAL)
		return cli_fail_why("undelete", r->path,
				    "it is not a path in the namespace");
	if (err)
		return cli_fail("undelete", r->path, err);
	return CLI_OK;
}

static int restore(struct store *store, const struct request *r)
{
	json_t *paths = r->json ? json_array() : NULL;
	struct trash_restored result = { .restored = take_path,
					 .context = paths,
					 .dry_run = r->dry_run };
	int status = restore_path(store, r, &result);

	if (status == CLI_OK && paths)
		status = print_json(paths, result.taken);
	json_decref(paths);
	if (status)
		return status;
	if (result.taken)
		fprintf(stderr,
			"tacfs: undelete: %zu files were not brought back: "
			"there are others of these names\n",
			result.taken);
	return cli_end_output("undelete") || result.taken ? CLI_FAILURE
							  : CLI_OK;
}

static int undelete(const struct request *r)
{
	const struct store_config config = { .create = false,
					     .space = r->space };
	struct store *store;
	int status = cli_open_store("undelete", r->store, &config, &store);

	if (status)
		return status;
	status = restore(store, r);
	store_close(store);
	return status;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
		{ "namespace", required_argument, NULL, OPTION_NAMESPACE },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { .space = NULL };
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) > 0) {
		if (c == OPTION_DRY_RUN)
			r.dry_run = true;
		else if (c == OPTION_NAMESPACE)
			r.space = optarg;
		else if (c == OPTION_JSON)
			r.json = true;
		else
			return cli_bad_option(argv);
	}
	if (argc - optind != 2)
		return cli_usage("undelete", "a STORE and a PATH are needed");
	r.store = argv[optind];
	r.path = argv[optind + 1];
	return undelete(&r);
}

const struct command command_undelete = {
	.name = "undelete",
	.summary = "bring back what was deleted within the last week",
	.help = "usage: tacfs undelete [--dry-run] [--namespace=NAME] [--json] "
		"STORE PATH\n"
		"\n"
		"Brings back the newest version of each file that was deleted "
		"at, or\n"
		"below, PATH in the namespace, and prints its path. / is all "
		"of it.\n"
		"Names that are in use again are left alone; then the status "
		"is 1.\n"
		"\n"
		"  --dry-run         only print the paths\n"
		"  --namespace=NAME  the namespace, instead of 'default'\n"
		"  --json            the paths in a JSON object\n",
	.run = run,
};
