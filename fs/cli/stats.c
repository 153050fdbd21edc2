/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>
#include <stdio.h>

#include "fs/cli/cli.h"
#include "fs/cli/measures.h"
#include "fs/cli/prometheus.h"
#include "fs/own.h"
#include "fs/store/reports.h"

enum form { FORM_TEXT, FORM_JSON, FORM_PROMETHEUS };

enum { OPTION_JSON = CLI_LONG_ONLY, OPTION_PROMETHEUS };

enum { MOUNT_STATS_MAX = 64 * 1024 };

/* What is known of a store. */
struct figures {
	struct store_measures measures;
	bool reported;
	struct report sum; /* of what its mounts have counted, if reported */
};

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

static int put_measures(json_t *object, const struct store_measures *m)
{
	const struct measure *measure;
	int err = 0;

	for (size_t i = 0; (measure = measure_at(i)); i++)
		err |= json_object_set_new(
			object, measure->name,
			json_integer((json_int_t)measure_value(measure, m)));
	err |= json_object_set_new(object, "ratio", json_real(ratio(m)));
	return err |
	       json_object_set_new(object, "sharing", json_real(sharing(m)));
}

static int put_live(json_t *object, const struct figures *f)
{
	json_t *live;

	if (!f->reported)
		return 0;
	live = json_object();
	return json_object_set_new(object, "live", live) |
	       report_put(live, &f->sum);
}

static int print_json(const struct figures *f)
{
	json_t *object = json_object();
	int err = put_measures(object, &f->measures) | put_live(object, f);

	if (!err) {
		json_dumpf(object, stdout,
			   JSON_INDENT(2) | JSON_REAL_PRECISION(4));
		putchar('\n');
	}
	json_decref(object);
	return err ? cli_fail("stats", "--json", -ENOMEM)
		   : cli_end_output("stats");
}

static int print_prometheus(const char *path, const struct figures *f)
{
	prometheus_store(stdout, path, &f->measures,
			 f->reported ? &f->sum : NULL);
	return cli_end_output("stats");
}

static void print_live(const struct report *sum)
{
	printf("counted by  %14" PRIu64 " mounts, %" PRIu64
	       " of them not ended\n",
	       sum->mounts, sum->active);
	for (int i = 0; i < COUNTER_COUNT; i++)
		printf("%26" PRIu64 " %s\n", sum->counts.value[i],
		       counter_about((enum counter)i)->name);
}

static int print_text(const struct figures *f)
{
	const struct store_measures *m = &f->measures;

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
	if (f->reported)
		print_live(&f->sum);
	return cli_end_output("stats");
}

static int measure(const char *path, struct figures *f)
{
	const struct store_config config = { .create = false };
	struct store *store;
	char why[256] = "";
	int err = store_open(path, &config, &store, why, sizeof(why));

	if (err)
		return cli_fail_why("stats", path, why);
	err = store_measure(store, &f->measures);
	f->reported = reports_sum(store, NULL, &f->sum) == 0;
	store_close(store);
	return err ? cli_fail("stats", path, err) : CLI_OK;
}

static int print_store(const char *path, enum form form)
{
	struct figures f = { .reported = false };

	if (measure(path, &f))
		return CLI_FAILURE;
	switch (form) {
	case FORM_TEXT:
		break;
	case FORM_JSON:
		return print_json(&f);
	case FORM_PROMETHEUS:
		return print_prometheus(path, &f);
	}
	return print_text(&f);
}

/* The text of `path`/.tacfs/stats.json; its size, 0 when it is not there. */
static size_t read_stats(const char *path, char text[MOUNT_STATS_MAX])
{
	AUTO_FREE char *name = NULL;
	FILE *file;
	size_t size;

	if (asprintf(&name, "%s/.tacfs/stats.json", path) < 0)
		return 0;
	file = fopen(name, "re");
	if (!file)
		return 0;
	size = fread(text, 1, MOUNT_STATS_MAX, file);
	fclose(file);
	return size;
}

/* Whether the path is a mount, and then what it has counted. */
static bool read_mount(const char *path, struct counts *counts)
{
	char text[MOUNT_STATS_MAX];
	size_t size = read_stats(path, text);
	json_t *object = json_loadb(text, size, 0, NULL);
	const json_t *mount = json_object_get(object, "mount");
	bool is_mount = mount;

	counts_take(mount, counts);
	json_decref(object);
	return is_mount;
}

static int print_any(const char *path, enum form form)
{
	struct counts counts;

	if (form != FORM_PROMETHEUS || !read_mount(path, &counts))
		return print_store(path, form);
	prometheus_mount(stdout, path, &counts);
	return cli_end_output("stats");
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "json", no_argument, NULL, OPTION_JSON },
		{ "prometheus", no_argument, NULL, OPTION_PROMETHEUS },
		{ NULL, 0, NULL, 0 },
	};
	enum form form = FORM_TEXT;
	int c;

	opterr = 0;
	while ((c = getopt_long(argc, argv, "", options, NULL)) != -1) {
		if (c != OPTION_JSON && c != OPTION_PROMETHEUS)
			return cli_bad_option(argv);
		if (form != FORM_TEXT)
			return cli_usage("stats", "one form is enough");
		form = c == OPTION_JSON ? FORM_JSON : FORM_PROMETHEUS;
	}
	if (argc - optind != 1)
		return cli_usage("stats", "one STORE is needed");
	return print_any(argv[optind], form);
}

const struct command command_stats = {
	.name = "stats",
	.summary = "compare what is stored with what was written",
	.help = "usage: tacfs stats [--json] STORE\n"
		"       tacfs stats --prometheus STORE|MOUNTPOINT\n"
		"\n"
		"Walks the whole STORE and writes how much it takes, and of "
		"what,\n"
		"against how much was written to it; and what its mounts have\n"
		"counted: hits, misses, damage, and more.\n"
		"\n"
		"  --json        as a JSON object; tacfs(1) says what its "
		"members are\n"
		"  --prometheus  as metrics for Prometheus; of a mount only "
		"its counters\n",
	.run = run,
};
