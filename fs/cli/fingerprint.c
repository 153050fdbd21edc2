/* SPDX-License-Identifier: Apache-2.0 */
#include "fs/fingerprint.h"

#include <errno.h>
#include <getopt.h>
#include <jansson.h>
#include <stdbool.h>
#include <stdio.h>

#include "fs/cli/cli.h"

enum { OPTION_JSON = CLI_LONG_ONLY, OPTION_ROOT };

static json_t *json_of_part(const struct fingerprint *f,
			    enum fingerprint_key key)
{
	const struct fingerprint_part *part = &f->parts[key];

	json_t *place = part->place ? json_string(part->place) : NULL;

	/* A path need not be valid Unicode; then it is null. */
	return json_pack("{s:s, s:s, s:o}", "name", fingerprint_key_name(key),
			 "version", part->value, "place",
			 place ? place : json_null());
}

static json_t *json_of(const struct fingerprint *f)
{
	char name[FINGERPRINT_NAME_SIZE];
	json_t *parts = json_array();
	int err = 0;

	fingerprint_name(f, name);
	for (int key = 0; key < FINGERPRINT_COUNT; key++)
		if (f->parts[key].value[0])
			err |= json_array_append_new(
				parts,
				json_of_part(f, (enum fingerprint_key)key));
	if (!err)
		return json_pack("{s:s, s:o}", "namespace", name, "parts",
				 parts);
	json_decref(parts);
	return NULL;
}

static int print_json(const struct fingerprint *f)
{
	json_t *object = json_of(f);

	if (!object)
		return cli_fail("fingerprint", "--json", -ENOMEM);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return cli_end_output("fingerprint");
}

static int print_name(const struct fingerprint *f)
{
	char name[FINGERPRINT_NAME_SIZE];

	fingerprint_name(f, name);
	puts(name);
	return cli_end_output("fingerprint");
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "root", required_argument, NULL, OPTION_ROOT },
		{ NULL, 0, NULL, 0 },
	};
	struct fingerprint found;
	const char *root = NULL;
	bool json = false;
	int status;
	int err;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c == '?')
			return cli_bad_option(argv);
		if (c == OPTION_ROOT)
			root = optarg;
		else
			json = true;
	}
	if (optind != argc)
		return cli_usage("fingerprint", "unexpected argument '%s'",
				 argv[optind]);
	err = fingerprint_find(root, &found);
	if (err)
		return cli_fail("fingerprint", root ? root : "/", err);
	status = json ? print_json(&found) : print_name(&found);
	fingerprint_free(&found);
	return status;
}

const struct command command_fingerprint = {
	.name = "fingerprint",
	.summary = "name a namespace after what is installed here",
	.help = "usage: tacfs fingerprint [--json] [--root DIR]\n"
		"\n"
		"Writes a name for a namespace, made of the versions of CANN, "
		"Python,\n"
		"torch, torch_npu, torchair and npugraph_ex that are found "
		"here, and of\n"
		"the machine. 'tacfs mount -o namespace=auto' uses it.\n"
		"\n"
		"  --json      write the parts, and where each was found\n"
		"  --root DIR  look below DIR as if it were /\n",
	.run = run,
};
