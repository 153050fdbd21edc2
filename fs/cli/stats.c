/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fs/cli/cli.h"
#include "fs/store/measure.h"

/* The names are documented in tacfs(1). */
static const struct {
	const char *name;
	size_t offset;
} counters[] = {
#define COUNTER(name, member)                                                  \
	{                                                                      \
		name, offsetof(struct store_measures, member)                  \
	}
	COUNTER("files", files),
	COUNTER("directories", directories),
	COUNTER("file_bytes", file_bytes),
	COUNTER("stored_bytes", stored_bytes),
	COUNTER("allocated_bytes", allocated_bytes),
	COUNTER("packs", packs),
	COUNTER("pack_bytes", pack_bytes),
	COUNTER("manifest_bytes", manifest_bytes),
	COUNTER("blocks", blocks),
	COUNTER("block_bytes", block_bytes),
	COUNTER("block_stored_bytes", block_stored_bytes),
	COUNTER("references", references),
	COUNTER("referenced_bytes", referenced_bytes),
	COUNTER("unreadable", unreadable),
	COUNTER("quarantined", quarantined),
#undef COUNTER
};

static uint64_t counter(const struct store_measures *m, size_t i)
{
	const char *base = (const char *)m;

	return *(const uint64_t *)(const void *)(base + counters[i].offset);
}

static double quotient(uint64_t a, uint64_t b)
{
	return b ? (double)a / (double)b : 0;
}

/* How much less is stored than was written. */
static double ratio(const struct store_measures *m)
{
	return quotient(m->file_bytes, m->stored_bytes);
}

/* How often a stored block is used. */
static double sharing(const struct store_measures *m)
{
	return quotient(m->referenced_bytes, m->block_bytes);
}

static json_t *json_of(const struct store_measures *m)
{
	json_t *object = json_object();
	int err = 0;

	for (size_t i = 0; i < sizeof(counters) / sizeof(*counters); i++)
		err |= json_object_set_new(
			object, counters[i].name,
			json_integer((json_int_t)counter(m, i)));
	err |= json_object_set_new(object, "ratio", json_real(ratio(m)));
	err |= json_object_set_new(object, "sharing", json_real(sharing(m)));
	if (!err)
		return object;
	json_decref(object);
	return NULL;
}

static int print_json(const struct store_measures *m)
{
	json_t *object = json_of(m);

	if (!object)
		return cli_fail("stats", "--json", -ENOMEM);
	json_dumpf(object, stdout, JSON_INDENT(2) | JSON_REAL_PRECISION(4));
	putchar('\n');
	json_decref(object);
	return cli_end_output("stats");
}

static int print_text(const struct store_measures *m)
{
	printf("written     %14" PRIu64 " bytes in %" PRIu64
	       " files and %" PRIu64 " directories\n",
	       m->file_bytes, m->files, m->directories);
	printf("stored      %14" PRIu64 " bytes: %.2f times less\n",
	       m->stored_bytes, ratio(m));
	printf("  packs     %14" PRIu64 " bytes in %" PRIu64 " packs\n",
	       m->pack_bytes, m->packs);
	printf("  manifests %14" PRIu64 " bytes\n", m->manifest_bytes);
	printf("blocks      %14" PRIu64 " bytes in %" PRIu64 " blocks\n",
	       m->block_bytes, m->blocks);
	printf("  used      %14" PRIu64 " bytes in %" PRIu64
	       " places: shared %.2f times\n",
	       m->referenced_bytes, m->references, sharing(m));
	printf("unreadable  %14" PRIu64 " files\n", m->unreadable);
	printf("quarantined %14" PRIu64 " files\n", m->quarantined);
	return cli_end_output("stats");
}

static int measure(const char *path, struct store_measures *m)
{
	const struct store_config config = { .create = false };
	struct store *store;
	char why[256] = "";
	int err = store_open(path, &config, &store, why, sizeof(why));

	if (err)
		return cli_fail_why("stats", path, why);
	err = store_measure(store, m);
	store_close(store);
	return err ? cli_fail("stats", path, err) : CLI_OK;
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, CLI_LONG_ONLY },
		{ NULL, 0, NULL, 0 },
	};
	struct store_measures m = { 0 };
	bool json = false;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != CLI_LONG_ONLY)
			return cli_bad_option(argv);
		json = true;
	}
	if (argc - optind != 1)
		return cli_usage("stats", "one STORE is needed");
	if (measure(argv[optind], &m))
		return CLI_FAILURE;
	return json ? print_json(&m) : print_text(&m);
}

const struct command command_stats = {
	.name = "stats",
	.summary = "compare what is stored with what was written",
	.help = "usage: tacfs stats [--json] STORE\n"
		"\n"
		"Walks the whole STORE and writes how much it takes, and of "
		"what,\n"
		"against how much was written to it.\n"
		"\n"
		"  --json  as a JSON object; tacfs(1) says what its members "
		"are\n",
	.run = run,
};
