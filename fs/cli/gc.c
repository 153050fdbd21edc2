/* SPDX-License-Identifier: Apache-2.0 */
#include <errno.h>
#include <getopt.h>
#include <inttypes.h>
#include <jansson.h>
#include <stdlib.h>
#include <string.h>

#include "fs/cli/cli.h"
#include "fs/cli/progress.h"
#include "fs/size.h"
#include "fs/store/collect.h"
#include "fs/store/evict.h"
#include "fs/store/trash.h"

enum {
	OPTION_DRY_RUN = CLI_LONG_ONLY,
	OPTION_GRACE,
	OPTION_KEEP,
	OPTION_REWRITE,
	OPTION_EVICT,
	OPTION_JSON,
	PERCENT_MAX = 100
};

struct request {
	struct collect_options options;
	bool json;
	bool evict; /* instead, until the store takes so many bytes */
	uint64_t bytes;
	const char *path;
};

static bool on_progress(void *context, size_t files)
{
	if (progress_is_due(context))
		progress_draw(context, "gc: %zu files", files);
	return true;
}

static int print_json(const struct collect_result *r)
{
	json_t *object = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I, s:I}", "files",
		(json_int_t)r->files, "packs", (json_int_t)r->packs,
		"expired_files", (json_int_t)r->expired_files,
		"rewritten_packs", (json_int_t)r->rewritten_packs,
		"rewritten_bytes", (json_int_t)r->rewritten_bytes,
		"set_aside_packs", (json_int_t)r->set_aside_packs,
		"set_aside_bytes", (json_int_t)r->set_aside_bytes,
		"restored_packs", (json_int_t)r->restored_packs,
		"deleted_packs", (json_int_t)r->deleted_packs, "deleted_bytes",
		(json_int_t)r->deleted_bytes);

	if (!object)
		return cli_fail("gc", "--json", -ENOMEM);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return cli_end_output("gc");
}

static int print_text(const struct collect_result *r, bool dry_run)
{
	const char *would = dry_run ? "would be " : "";

	printf("%zu files need %zu packs\n", r->files, r->packs);
	printf("%zu deleted files %sforgotten for good\n", r->expired_files,
	       would);
	printf("%zu packs %srewritten without %" PRIu64 " bytes\n",
	       r->rewritten_packs, would, r->rewritten_bytes);
	printf("%zu packs, %" PRIu64 " bytes, %sset aside\n",
	       r->set_aside_packs, r->set_aside_bytes, would);
	if (r->restored_packs)
		printf("%zu packs %sbrought back\n", r->restored_packs, would);
	printf("%zu packs, %" PRIu64 " bytes, %sdeleted\n", r->deleted_packs,
	       r->deleted_bytes, would);
	return cli_end_output("gc");
}

static int print_evicted_json(const struct evict_result *r)
{
	json_t *object = json_pack(
		"{s:I, s:I, s:I, s:I, s:I, s:I}", "evicted_directories",
		(json_int_t)r->directories, "evicted_files",
		(json_int_t)r->files, "expired_files",
		(json_int_t)r->expired_files, "deleted_packs",
		(json_int_t)r->deleted_packs, "deleted_bytes",
		(json_int_t)r->deleted_bytes, "bytes", (json_int_t)r->bytes);

	if (!object)
		return cli_fail("gc", "--json", -ENOMEM);
	json_dumpf(object, stdout, JSON_INDENT(2));
	putchar('\n');
	json_decref(object);
	return cli_end_output("gc");
}

static int print_evicted(const struct evict_result *r)
{
	printf("%zu directories with %zu files evicted\n", r->directories,
	       r->files);
	printf("%zu deleted files forgotten for good\n", r->expired_files);
	printf("%zu packs, %" PRIu64 " bytes, deleted\n", r->deleted_packs,
	       r->deleted_bytes);
	printf("%" PRIu64 " bytes are left\n", r->bytes);
	return cli_end_output("gc");
}

static int evict(const struct request *r)
{
	const struct store_config config = { .create = false };
	struct progress progress = progress_start(r->json);
	const struct evict_options options = { .bytes = r->bytes,
					       .progress = on_progress,
					       .context = &progress };
	struct evict_result result;
	struct store *store;
	char why[512] = "";
	int status;
	int err = store_open(r->path, &config, &store, why, sizeof(why));

	if (err)
		return cli_fail_why("gc", r->path, why);
	err = store_is_read_only(store) ? -EROFS
					: store_evict(store, &options, &result);
	progress_erase(&progress);
	store_close(store);
	if (err)
		return err == -EROFS
			       ? cli_fail("gc", r->path, err)
			       : cli_fail_why("gc", r->path, result.trouble);
	status = r->json ? print_evicted_json(&result) : print_evicted(&result);
	if (!status && !result.enough)
		return cli_fail_why("gc", r->path,
				    "what is left is pinned or open");
	return status;
}

static int collect(const struct request *r)
{
	const struct store_config config = { .create = false };
	struct progress progress = progress_start(r->json);
	struct collect_options options = r->options;
	struct collect_result result;
	struct store *store;
	int err = cli_open_store("gc", r->path, &config, &store);

	if (err)
		return err;
	options.progress = on_progress;
	options.context = &progress;
	err = store_collect(store, &options, &result);
	progress_erase(&progress);
	store_close(store);
	if (err)
		return cli_fail_why("gc", r->path, result.trouble);
	if (result.not_rewritten[0])
		fprintf(stderr, "tacfs gc: packs are not rewritten: %s\n",
			result.not_rewritten);
	return r->json ? print_json(&result)
		       : print_text(&result, options.dry_run);
}

static int take_seconds(const char *option, const char *text, int64_t *seconds)
{
	char *end;
	long long value;

	errno = 0;
	value = strtoll(text, &end, 10);
	if (errno || end == text || *end || value < 0 || value > INT32_MAX)
		return cli_usage("gc", "--%s=%s is not a number of seconds",
				 option, text);
	*seconds = value;
	return CLI_OK;
}

static int take_percent(const char *text, unsigned *percent)
{
	char *end;
	unsigned long value;

	errno = 0;
	value = strtoul(text, &end, 10);
	if (errno || end == text || *end || value > PERCENT_MAX)
		return cli_usage("gc", "--rewrite=%s is not a percentage",
				 text);
	*percent = (unsigned)value;
	return CLI_OK;
}

static int take_option(int c, struct request *r, char **argv)
{
	switch (c) {
	case OPTION_DRY_RUN:
		r->options.dry_run = true;
		return CLI_OK;
	case OPTION_JSON:
		r->json = true;
		return CLI_OK;
	case OPTION_EVICT:
		r->evict = true;
		if (size_parse(optarg, &r->bytes) == 0)
			return CLI_OK;
		return cli_usage("gc",
				 "--evict=%s is not a size, such as 512M or "
				 "10G",
				 optarg);
	case OPTION_GRACE:
		return take_seconds("grace", optarg, &r->options.grace);
	case OPTION_KEEP:
		return take_seconds("keep", optarg, &r->options.keep);
	case OPTION_REWRITE:
		return take_percent(optarg, &r->options.rewrite);
	default:
		return cli_bad_option(argv);
	}
}

static int run(int argc, char **argv)
{
	static const struct option options[] = {
		{ "dry-run", no_argument, NULL, OPTION_DRY_RUN },
		{ "grace", required_argument, NULL, OPTION_GRACE },
		{ "keep", required_argument, NULL, OPTION_KEEP },
		{ "rewrite", required_argument, NULL, OPTION_REWRITE },
		{ "evict", required_argument, NULL, OPTION_EVICT },
		{ "json", no_argument, NULL, OPTION_JSON },
		{ NULL, 0, NULL, 0 },
	};
	struct request r = { .options = { .grace = COLLECT_GRACE_SECONDS,
					  .keep = TRASH_SECONDS,
					  .rewrite = COLLECT_REWRITE_PERCENT,
					  .intents = COLLECT_INTENT_SECONDS } };
	int status = CLI_OK;
	int c;

	opterr = 0;
	while (!status && (c = getopt_long(argc, argv, "", options, NULL)) > 0)
		status = take_option(c, &r, argv);
	if (status)
		return status;
	if (argc - optind != 1)
		return cli_usage("gc", "one STORE is needed");
	r.path = argv[optind];
	if (r.evict && r.options.dry_run)
		return cli_usage("gc", "--evict and --dry-run exclude each "
				       "other");
	return r.evict ? evict(&r) : collect(&r);
}

const struct command command_gc = {
	.name = "gc",
	.summary = "delete what nothing in a store needs any more",
	.help = "usage: tacfs gc [--dry-run] [--grace=SECONDS] "
		"[--keep=SECONDS] [--rewrite=PERCENT] [--json] STORE\n"
		"       tacfs gc --evict=SIZE [--json] STORE\n"
		"\n"
		"Forgets files that were deleted long ago, sets packs aside "
		"that no\n"
		"file needs, and deletes those that an earlier run set aside. "
		"Packs\n"
		"of which little is needed are rewritten without the rest. "
		"Others may\n"
		"use the store meanwhile.\n"
		"\n"
		"  --dry-run        only say what would be done\n"
		"  --grace=SECONDS  between setting aside and deleting: 3600; "
		"with 0\n"
		"                   both are done now\n"
		"  --keep=SECONDS   how long deleted files can be undeleted: "
		"604800\n"
		"  --rewrite=PERCENT\n"
		"                   rewrite packs of which more is not needed: "
		"50; with 0\n"
		"                   none\n"
		"  --evict=SIZE     evict what was not used for longest, until "
		"the\n"
		"                   store takes no more than SIZE\n"
		"  --json           the numbers as a JSON object\n",
	.run = run,
};
